//! Durability: the redo log, checkpoints and recovery.
//!
//! A database gives its redo records to a [`RedoSink`](hotrow_storage::RedoSink). The sink of this crate writes them to
//! a log in a *data directory*, from which a later process makes the same rows again.
//!
//! | module | contents |
//! | --- | --- |
//! | `bytes`, `definition` | integers, strings and definitions of tables, as bytes |
//! | [`record`] | the records, as bytes |
//! | [`source`] | a sequence of records, and what is damaged in it |
//! | [`disk`] | the files of a data directory, real or simulated |
//! | `frame`, `segment` | the frames around the records of the log, and its files |
//! | [`reader`] | reading a log, and finding its end |
//! | [`writer`] | writing a log |
//! | [`failure`] | the ways in which work on files fails |
//! | [`format`](mod@format) | the version of a data directory |
//! | `table_file`, `files` | the files of checkpoints |
//! | `manifest` | the file that says which files make up a checkpoint |
//! | `merge` | several runs of a table, read as one |
//! | [`checkpoint`] | making checkpoints of the log |
//! | [`recovery`] | making the rows of a data directory again |
//! | [`backup`], `frame_file` | backups of a directory in use, and directories made of them |
//! | [`inspect`] | finding damage, and showing the log to people |
//! | [`directory`] | a data directory in use |

pub mod backup;
mod bytes;
pub mod checkpoint;
mod definition;
#[cfg(not(any(loom, shuttle)))]
pub mod directory;
pub mod disk;
pub mod failure;
mod files;
pub mod format;
mod frame;
mod frame_file;
pub mod inspect;
mod manifest;
mod merge;
pub mod reader;
pub mod record;
#[cfg(not(any(loom, shuttle)))]
pub mod recovery;
mod segment;
pub mod source;
mod table_file;
pub mod writer;
