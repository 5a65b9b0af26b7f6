//! A browser does what it is told, tells what it sees, measures what can be read, reaches nothing else, and leaves nothing behind.

mod contrast;
mod ending;
mod layout;
mod site;
mod steering;
