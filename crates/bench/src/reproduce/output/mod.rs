//! The files that a reproduction writes, and the text that it prints.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `folder.rs` | the folder that all files are written into |
//! | `page.rs` | the page with all figures and claims |
//! | `chart.rs`, `sheet.rs` | a panel as a picture; lines, marks and text in SVG |
//! | `csv.rs` | the points as CSV |
//! | `listing.rs` | the printed text |
//!
//! All output is made from the results alone, so that it can be written at any time. A figure whose measurement was
//! interrupted is drawn as far as its points go, and no claim about it is decided.

mod chart;
mod csv;
mod folder;
pub(super) mod listing;
mod page;
mod sheet;

pub(super) use folder::OutputFolder;
