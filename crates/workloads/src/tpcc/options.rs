//! The options of TPC-C.

use crate::options::parse_share;
use clap::ValueEnum;

/// The command-line options of TPC-C.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Warehouses, with 10 districts each
    #[arg(long, value_name = "N", default_value_t = 4, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub warehouses: u32,

    /// Mix of transactions: full, small, neworder-payment, neworder, payment, orderstatus or stocklevel; a mix of
    /// deliveries alone would run out of orders
    #[arg(long, value_name = "MIX", value_enum, default_value_t = Mix::Full, hide_possible_values = true)]
    pub mix: Mix,

    /// The warehouse of a worker's transactions: random, drawn for each of them, or bound, the same for all
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Home::Random, hide_possible_values = true)]
    pub home: Home,

    /// The share of order lines that another warehouse supplies
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, allow_negative_numbers = true)]
    #[arg(value_parser = parse_share)]
    pub remote_neworder: f64,

    /// The share of payments by customers of another warehouse
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, allow_negative_numbers = true)]
    #[arg(value_parser = parse_share)]
    pub remote_payment: f64,

    /// The share of orders with an item that does not exist, which are rolled back
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, allow_negative_numbers = true)]
    #[arg(value_parser = parse_share)]
    pub rollback: f64,

    /// The share of payments and inquiries that find the customer by last name
    #[arg(long, value_name = "SHARE", default_value_t = 0.6, allow_negative_numbers = true)]
    #[arg(value_parser = parse_share)]
    pub by_name: f64,

    /// Items, and stocks of each warehouse; the specification has 100,000
    #[arg(long, value_name = "N", default_value_t = 100_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub items: u32,

    /// Customers of each district, and orders that it begins with; the specification has 3,000
    #[arg(long, value_name = "N", default_value_t = 3000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub customers: u32,

    /// Warehouses to check after a run, drawn at random; 0 checks all
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub check_sample: u32,
}

/// The mix of transactions that the workers run.
#[derive(ValueEnum, serde::Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// All five: 45, 43, 4, 4 and 4 of 100
    Full,
    /// New-Order, Payment and Order-Status in the same proportion, as in the SLI paper
    Small,
    /// New-Order and Payment, half and half, as in the ORTHRUS paper
    #[value(name = "neworder-payment")]
    #[serde(rename = "neworder-payment")]
    NewOrderPayment,
    /// New-Order only
    #[value(name = "neworder")]
    NewOrder,
    /// Payment only
    Payment,
    /// Order-Status only
    #[value(name = "orderstatus")]
    OrderStatus,
    /// Stock-Level only
    #[value(name = "stocklevel")]
    StockLevel,
}

impl Mix {
    /// Returns the weight of each of [`KINDS`](super::generate::KINDS), in their order.
    pub(super) fn weights(self) -> [u32; 5] {
        match self {
            Mix::Full => [45, 43, 4, 4, 4],
            Mix::Small => [45, 43, 4, 0, 0],
            Mix::NewOrderPayment => [1, 1, 0, 0, 0],
            Mix::NewOrder => [1, 0, 0, 0, 0],
            Mix::Payment => [0, 1, 0, 0, 0],
            Mix::OrderStatus => [0, 0, 1, 0, 0],
            Mix::StockLevel => [0, 0, 0, 0, 1],
        }
    }
}

/// The warehouse of a worker's transactions.
#[derive(ValueEnum, serde::Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// Drawn for each transaction, as if the worker served all terminals
    Random,
    /// One for all transactions of a worker; workers are bound to the warehouses in turn
    Bound,
}

impl Options {
    /// Checks the options against each other.
    pub(super) fn validate(self) -> Result<Self, String> {
        if self.check_sample > self.warehouses {
            return Err(format!(
                "--check-sample {} is more than there are: --warehouses is {}",
                self.check_sample, self.warehouses
            ));
        }
        Ok(self)
    }

    /// Describes the workload in one line.
    pub(super) fn summary(&self) -> String {
        let Options { warehouses, remote_neworder, remote_payment, .. } = self;
        let mix = self.mix.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let mut line = format!(
            "{warehouses} {}, mix {mix}, {} % remote lines, {} % remote payments",
            if *warehouses == 1 { "warehouse" } else { "warehouses" },
            percent(*remote_neworder),
            percent(*remote_payment)
        );
        if (self.items, self.customers) != (100_000, 3000) {
            line += &format!(", scaled to {} items and {} customers a district", self.items, self.customers);
        }
        line
    }

    /// Returns the number of a district's orders that are delivered when a run begins: 2,100 of 3,000.
    pub(super) fn delivered(&self) -> i32 {
        (u64::from(self.customers) * 7 / 10) as i32
    }
}

fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}
