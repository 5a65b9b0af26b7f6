//! The dashboard in a real browser, through the program as it is served.

#![cfg(feature = "server-tests")]

mod chart;
#[path = "../desk/mod.rs"]
mod desk;
mod door;
mod keyboard;
mod looks;
mod markup;
mod pages;
mod story;
mod visit;
mod without_scripts;
