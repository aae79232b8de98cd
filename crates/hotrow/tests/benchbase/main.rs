//! Tests that TPC-C and TATP have the same database natively and by BenchBase: its tables are the native ones, its
//! statements run on rows that were loaded natively, and native clients run on tables that SQL made.
//!
//! The statements have BenchBase's tables, columns, conditions and parameters, in its order. Foreign keys are left out.

mod connection;
mod tatp;
mod tpcc;
