//! What the server does, over its interface: one program, since linking it takes longer than running it.

mod account_pages;
mod api;
mod connections;
mod house;
mod input;
mod owner_pages;
mod pages;
mod question_pages;
mod roles;
mod sessions;
mod strict_pages;
mod tokens;
mod verification;
