//! A few pages on a port of this machine.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

/// Serves pages until the test ends.
pub struct Site {
    pub address: SocketAddr,
    /// Headers and body of every page.
    pages: Arc<Mutex<HashMap<String, (String, String)>>>,
    /// The paths that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub fn start(host: &str) -> Site {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let site = Site { address, pages: Arc::default(), asked: Arc::default() };
        let (pages, asked) = (Arc::clone(&site.pages), Arc::clone(&site.asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A browser opens connections that it may never use.
                let (stream, pages, asked) = (stream.unwrap(), Arc::clone(&pages), Arc::clone(&asked));
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                    let Some(path) = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_string())) else {
                        return;
                    };
                    lines.take_while(|line| !line.is_empty()).for_each(drop);
                    let known = pages.lock().unwrap().get(&path).cloned();
                    asked.lock().unwrap().push(path);
                    let (status, (headers, body)) = match known {
                        Some(known) => ("200 OK", known),
                        None => ("404 Not Found", Default::default()),
                    };
                    let answer = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n{headers}\
                         connection: close\r\n\r\n{body}",
                        body.len()
                    );
                    let _ = (&stream).write_all(answer.as_bytes());
                });
            }
        });
        site
    }

    /// Puts a page there; its address.
    pub fn put(&self, path: &str, headers: &str, body: &str) -> String {
        let page = (headers.to_string(), format!("<!doctype html><html lang=en><meta charset=utf-8>{body}"));
        self.pages.lock().unwrap().insert(path.to_string(), page);
        format!("http://{}{path}", self.address)
    }

    pub fn was_asked(&self, path: &str) -> bool {
        self.asked.lock().unwrap().iter().any(|asked| asked == path)
    }
}
