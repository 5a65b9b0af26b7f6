//! Uploads and datasets.

use super::*;

async fn upload(server: &TestServer) -> String {
    let reply = server
        .send_with("owner", "POST", "/v1/uploads", TestServer::CSV, &[("Content-Type", "text/csv")])
        .await
        .expect(201)
        .json();
    assert_eq!(reply["bytes"], TestServer::CSV.len());
    reply["upload"].as_str().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn data_are_uploaded_registered_and_replaced() {
    let server = TestServer::new();
    let id = upload(&server).await;
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = std::fs::read_dir(server.uploads()).unwrap().next().unwrap().unwrap().path();
        assert_eq!((mode(server.uploads()), mode(file)), (0o700, 0o600));
    }
    let data = json!({ "upload": { "id": id } });
    let age = json!({ "name": "age", "bounds": ["0", "120"] });
    let region = json!({ "name": "region", "categories": ["north", "south"] });
    let schema = json!({ "unit": "row", "columns": [age, region] });
    // Without a budget no account can pay: it fails, and the upload is kept.
    let new = json!({ "dataset": "lab", "data": data, "schema": schema });
    server.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(400);
    // The privacy unit has no default, with or without a schema.
    let filter = json!({ "budget": { "epsilon": "1", "delta": "1e-6" } });
    for new in [
        json!({ "dataset": "lab", "data": data, "filter": filter }),
        json!({ "dataset": "lab", "data": data, "filter": filter, "schema": { "columns": [] } }),
    ] {
        let problem = server.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(400).json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("schema") && detail.contains("unit"), "{problem}");
    }
    // An error in the file does not show its path.
    let new = json!({ "dataset": "lab", "data": data, "schema": { "unit": "row", "columns": [{ "name": "region", "type": "integer" }] },
        "filter": { "budget": { "epsilon": "1", "delta": "1e-6" } } });
    let wrong = server.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(400);
    assert!(!wrong.text().contains(server.folder.path().to_str().unwrap()), "{}", wrong.text());
    let new = json!({ "dataset": "lab", "data": data, "schema": schema, "reuse": true, "timeout_seconds": 5.5,
        "filter": { "rule": "zcdp", "budget": { "epsilon": "1", "delta": "1e-6" } } });
    let registered = server.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(201).json();
    assert_eq!((&registered["version"], &registered["imported"]["kept"]), (&json!(1), &json!(4)));
    // The upload is gone.
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 0);
    server.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(404);
    // Newer data keep the declaration.
    let newer = json!({ "dataset": "lab", "data": { "upload": { "id": upload(&server).await } }, "new_version": true });
    let registered = server.send("owner", "POST", "/v1/datasets", &newer.to_string()).await.expect(201).json();
    assert_eq!((&registered["version"], &registered["unchanged"]), (&json!(2), &json!(true)));
    let shown = server.get("owner", "/v1/datasets/lab").await.expect(200).json();
    assert_eq!((&shown["reuse"], &shown["timeout_seconds"]), (&json!(true), &json!(5.5)));
    assert_eq!(shown["schema"]["columns"][0]["bounds"], json!(["0", "120"]));
    // An analyst's account has the dataset's rule by default.
    let analyst = r#"{"analyst":"zoe","filter":{"budget":{"epsilon":"0.5","delta":"1e-6"}}}"#;
    let added = server.send("owner", "POST", "/v1/datasets/lab/analysts", analyst).await.expect(201).json();
    assert_eq!(
        (&added["account"]["filter"]["rule"], &added["account"]["account"]),
        (&json!("zcdp"), &json!("lab/zoe"))
    );
    server.send("owner", "POST", "/v1/datasets/lab/analysts", r#"{"analyst":"yan"}"#).await.expect(400);
    server.get("owner", "/v1/datasets/lab/check").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn public_tables_are_registered_joined_replaced_and_removed() {
    let server = TestServer::new();
    let send = async |csv: &str, replace: bool, expected: u16| {
        let header = [("Content-Type", "text/csv")];
        let upload = server.send_with("owner", "POST", "/v1/uploads", csv, &header).await.expect(201).json();
        let new = json!({ "public_table": "regions", "upload": upload["upload"], "replace": replace });
        server.send("owner", "POST", "/v1/public-tables", &new.to_string()).await.expect(expected).json()
    };
    let table = send("region,capital\nnorth,Kiel\nsouth,Munich\n", false, 201).await;
    assert_eq!((&table["rows"], &table["columns"][0]["unique"]), (&json!(2), &json!(true)));
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 0);
    // An analyst sees which there are, and joins them.
    assert_eq!(server.get("alice", "/v1/public-tables").await.expect(200).json(), json!([table]));
    let question = "SELECT capital, COUNT(*) FROM census JOIN regions USING (region) GROUP BY capital";
    let asked = json!({ "dataset": "census", "question": question, "price": { "epsilon": "0.01" } });
    let answer = server.send("alice", "POST", "/v1/questions", &asked.to_string()).await.json();
    assert_eq!((&answer["rows"][0][0], &answer["rows"][1][0]), (&json!("Kiel"), &json!("Munich")), "{answer}");
    // Another one takes its place only if that is said.
    let exists = send("region,capital\nnorth,Lübeck\n", false, 400).await;
    assert_eq!(exists["parameter"], "replace", "{exists}");
    let replaced = send("region,capital\nnorth,Lübeck\n", true, 201).await;
    assert!(replaced["hash"] != table["hash"] && replaced["rows"] == 1, "{replaced}");
    let wrong = send("region,region\n", true, 400).await;
    assert!(!wrong.to_string().contains(server.folder.path().to_str().unwrap()), "{wrong}");
    server.send("owner", "POST", "/v1/public-tables/regions/remove", "").await.expect(200);
    server.send("owner", "POST", "/v1/public-tables/regions/remove", "").await.expect(404);
    assert_eq!(server.get("owner", "/v1/public-tables").await.expect(200).json(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_have_limits_and_leave_nothing_behind() {
    let limits = Settings { largest_upload: 100, arrival: Duration::from_millis(200), ..Settings::default() };
    let server = TestServer::with(limits);
    let csv = [("Content-Type", "text/csv; charset=utf-8")];
    server.send_with("owner", "POST", "/v1/uploads", &"x".repeat(101), &csv).await.expect(413);
    server.send_with("owner", "POST", "/v1/uploads", "{}", &[("Content-Type", "application/json")]).await.expect(415);
    let request = |body: Body| {
        let token = format!("Bearer {}", server.secret("owner"));
        Request::post("/v1/uploads")
            .header("Authorization", token)
            .header("Content-Type", "text/csv")
            .body(body)
            .unwrap()
    };
    // Chunked without a length; and one that stalls.
    let parts = (0..30).map(|_| Ok::<_, std::io::Error>("x,y,z"));
    server.raw(request(Body::from_stream(futures_util::stream::iter(parts)))).await.expect(413);
    let silent = futures_util::stream::pending::<Result<String, std::io::Error>>();
    server.raw(request(Body::from_stream(silent))).await.expect(408);
    let broken = futures_util::stream::iter([Ok("x"), Err(std::io::Error::other("gone"))]);
    server.raw(request(Body::from_stream(broken))).await.expect(400);
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 0);
    for _ in 0..16 {
        server.send_with("owner", "POST", "/v1/uploads", "x\n1\n", &csv).await.expect(201);
    }
    server.send_with("owner", "POST", "/v1/uploads", "x\n1\n", &csv).await.expect(429);
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 16);
    for id in ["..", "../gate.db", "/etc/passwd", "", "\u{0}", "gate.db"] {
        let new = json!({ "dataset": "lab", "data": { "upload": { "id": id } }, "filter": { "budget": { "epsilon": "1" } },
            "odometer": { "at_delta": "1e-6" } });
        let reply = server.send("owner", "POST", "/v1/datasets", &new.to_string()).await;
        assert!(reply.status == 404 || reply.status == 400, "{id:?}: {}", reply.text());
    }
}

/// A driver runs with all rights of the server, and a path could be that of any file of its machine.
#[tokio::test(flavor = "multi_thread")]
async fn drivers_and_paths_of_files_are_not_taken_from_the_network() {
    let server = TestServer::new();
    for data in [
        json!({ "parquet": { "pattern": "/etc/*" } }),
        json!({ "parquet": { "pattern": "/data/a.parquet", "driver": { "driver": "/tmp/evil.so", "entry": "init" } } }),
        json!({ "adbc": { "driver": "/tmp/evil.so" } }),
        json!({ "csv": { "path": "/etc/passwd" } }),
        json!({ "upload": { "id": "0123456789abcdef0123456789abcdef", "engine": "duckdb" } }),
        json!({ "upload": { "id": "0123456789abcdef0123456789abcdef", "driver": "/tmp/evil.so" } }),
    ] {
        let filter = json!({ "budget": { "epsilon": "1", "delta": "1e-6" } });
        let new = json!({ "dataset": "far", "data": data, "schema": { "unit": "row" }, "filter": filter });
        let reply = server.send("owner", "POST", "/v1/datasets", &new.to_string()).await.expect(400);
        assert!(reply.text().contains("unknown"), "{new}: {}", reply.text());
    }
    server.get("owner", "/v1/datasets/far").await.expect(404);
}

/// With an owner's token, a client could make the server probe every port of its network.
#[tokio::test(flavor = "multi_thread")]
async fn tables_are_registered_from_listed_servers_only_and_all_failures_look_alike() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap().port();
    let closing = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closes = closing.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = closing.accept().await {
            drop(stream);
        }
    });
    let postgres_hosts =
        vec!["127.0.0.1:1".to_string(), format!("127.0.0.1:{closes}"), "no.such.host.invalid".to_string()];
    let server = TestServer::with(Settings { postgres_hosts, ..Settings::default() });
    let register = async |host: &str| {
        let data = json!({ "postgres": { "url": format!("postgres://me:secret@{host}/db"), "table": "people" } });
        let budget = json!({ "epsilon": "1", "delta": "1e-6" });
        let filter = json!({ "budget": budget });
        let new = json!({ "dataset": "far", "data": data, "schema": { "unit": "row" }, "filter": filter });
        server.send("owner", "POST", "/v1/datasets", &new.to_string()).await
    };
    for host in [format!("127.0.0.1:{silent}"), "localhost:1".to_string(), "10.0.0.1".to_string()] {
        let reply = register(&host).await.expect(403);
        assert!(reply.json()["detail"].as_str().unwrap().contains("not in its list"), "{host}: {}", reply.text());
    }
    // No connection was tried.
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let mut details = std::collections::BTreeSet::new();
    for host in ["127.0.0.1:1".to_string(), format!("127.0.0.1:{closes}"), "no.such.host.invalid:7".to_string()] {
        details.insert(register(&host).await.expect(400).json()["detail"].as_str().unwrap().to_string());
    }
    assert_eq!(details.len(), 1, "{details:?}");
}
