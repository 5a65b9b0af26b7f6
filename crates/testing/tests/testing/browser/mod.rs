//! A browser does what it is told, tells what it sees, checks what can be read, reaches nothing else, and leaves nothing behind.

mod accessibility;
mod ending;
mod layout;
mod site;
mod steering;
