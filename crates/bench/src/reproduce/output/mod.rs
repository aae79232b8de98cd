//! What a reproduction writes and prints.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `folder.rs` | the folder that all files are written into |
//! | `page.rs` | the page with all figures and claims |
//! | `chart.rs`, `sheet.rs` | a panel as a picture; lines, marks and text in SVG |
//! | `csv.rs` | the points as CSV |
//! | `listing.rs` | the printed text |
//!
//! Everything here is made from the results alone, so that it can be written at any time. A figure that was not
//! measured to its end is drawn as far as it goes, and nothing is concluded from it.

mod chart;
mod csv;
mod folder;
pub(super) mod listing;
mod page;
mod sheet;

pub(super) use folder::OutputFolder;
