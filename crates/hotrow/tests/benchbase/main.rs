//! TPC-C and TATP natively and by BenchBase are the same database: its tables are the native ones, its statements run on
//! rows that were loaded natively, and native clients run on tables that SQL made.
//!
//! The statements have BenchBase's tables, columns, conditions and parameters, in its order. Foreign keys are left out,
//! as SQL has none yet, and so are the two statements that join tables: Stock-Level's count of items and
//! GET_NEW_DESTINATION's query. In their place stand two statements that come to the same.

mod connection;
mod tatp;
mod tpcc;
