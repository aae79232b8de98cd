//! The positions of the tables' columns, and the lengths that code must know.

/// The positions of the columns of `warehouse`.
pub mod warehouse {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const ID: usize = 0;
    pub const YTD: usize = 1;
    pub const TAX: usize = 2;
    pub const NAME: usize = 3;
    pub const STREET_1: usize = 4;
    pub const STREET_2: usize = 5;
    pub const CITY: usize = 6;
    pub const STATE: usize = 7;
    pub const ZIP: usize = 8;
}

/// The positions of the columns of `district`.
pub mod district {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const WAREHOUSE: usize = 0;
    pub const ID: usize = 1;
    pub const YTD: usize = 2;
    pub const TAX: usize = 3;
    pub const NEXT_ORDER: usize = 4;
    pub const NAME: usize = 5;
    pub const STREET_1: usize = 6;
    pub const STREET_2: usize = 7;
    pub const CITY: usize = 8;
    pub const STATE: usize = 9;
    pub const ZIP: usize = 10;
}

/// The positions of the columns of `customer`.
pub mod customer {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const WAREHOUSE: usize = 0;
    pub const DISTRICT: usize = 1;
    pub const ID: usize = 2;
    pub const DISCOUNT: usize = 3;
    pub const CREDIT: usize = 4;
    pub const LAST: usize = 5;
    pub const FIRST: usize = 6;
    pub const CREDIT_LIMIT: usize = 7;
    pub const BALANCE: usize = 8;
    pub const PAID: usize = 9;
    pub const PAYMENTS: usize = 10;
    pub const DELIVERIES: usize = 11;
    pub const STREET_1: usize = 12;
    pub const STREET_2: usize = 13;
    pub const CITY: usize = 14;
    pub const STATE: usize = 15;
    pub const ZIP: usize = 16;
    pub const PHONE: usize = 17;
    pub const SINCE: usize = 18;
    pub const MIDDLE: usize = 19;
    pub const DATA: usize = 20;
    /// The greatest number of characters of the column `c_data`.
    pub const DATA_LONGEST: usize = 500;
}

/// The positions of the columns of `history`.
pub mod history {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const CUSTOMER: usize = 0;
    pub const CUSTOMER_DISTRICT: usize = 1;
    pub const CUSTOMER_WAREHOUSE: usize = 2;
    pub const DISTRICT: usize = 3;
    pub const WAREHOUSE: usize = 4;
    pub const DATE: usize = 5;
    pub const AMOUNT: usize = 6;
    pub const DATA: usize = 7;
    pub const ROW_ID: usize = 8;
}

/// The positions of the columns of `oorder`.
pub mod order {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const WAREHOUSE: usize = 0;
    pub const DISTRICT: usize = 1;
    pub const ID: usize = 2;
    pub const CUSTOMER: usize = 3;
    pub const CARRIER: usize = 4;
    pub const LINES: usize = 5;
    pub const ALL_LOCAL: usize = 6;
    pub const ENTERED: usize = 7;
}

/// The positions of the columns of `new_order`.
pub mod new_order {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const WAREHOUSE: usize = 0;
    pub const DISTRICT: usize = 1;
    pub const ORDER: usize = 2;
}

/// The positions of the columns of `order_line`.
pub mod order_line {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const WAREHOUSE: usize = 0;
    pub const DISTRICT: usize = 1;
    pub const ORDER: usize = 2;
    pub const NUMBER: usize = 3;
    pub const ITEM: usize = 4;
    pub const DELIVERED: usize = 5;
    pub const AMOUNT: usize = 6;
    pub const SUPPLY: usize = 7;
    pub const QUANTITY: usize = 8;
    pub const INFO: usize = 9;
}

/// The positions of the columns of `stock`.
pub mod stock {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const WAREHOUSE: usize = 0;
    pub const ITEM: usize = 1;
    pub const QUANTITY: usize = 2;
    pub const YTD: usize = 3;
    pub const ORDERS: usize = 4;
    pub const REMOTE_ORDERS: usize = 5;
    pub const DATA: usize = 6;
    /// The number of characters of each of the columns `s_dist_01` to `s_dist_10`.
    pub const DISTRICT_BYTES: usize = 24;

    /// Returns the position of the column for district `number`, from `s_dist_01` to `s_dist_10`.
    #[must_use]
    pub const fn district(number: i32) -> usize {
        DATA + number as usize
    }
}

/// The positions of the columns of `item`.
pub mod item {
    #![allow(missing_docs, reason = "the names are the columns'")]
    pub const ID: usize = 0;
    pub const NAME: usize = 1;
    pub const PRICE: usize = 2;
    pub const DATA: usize = 3;
    pub const IMAGE: usize = 4;
}
