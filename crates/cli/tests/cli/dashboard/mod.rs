//! The dashboard in a real browser, through the program as it is served.

mod chart;
mod door;
mod issuer;
mod keyboard;
mod looks;
mod markup;
pub mod pages;
mod story;
pub mod visit;
mod without_scripts;
