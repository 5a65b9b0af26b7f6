//! The exact engine against values computed elsewhere, and against filters that are broken on purpose.

mod broken_filters;
mod exact_engine;
