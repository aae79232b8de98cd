//! Stands for `std::sync::atomic`: each access is a step.

use super::access::Access;
use super::scheduler::step;
use std::ptr;
pub use std::sync::atomic::{Ordering, compiler_fence};

/// The ordering of all accesses. SeqCst: the machine has no other one.
const ALL: Ordering = Ordering::SeqCst;

/// Makes a step, and nothing else: all accesses are sequentially consistent, so there is nothing to order.
#[track_caller]
pub fn fence(_: Ordering) {
    step(Access::Elsewhere);
}

macro_rules! common {
    ($name:ident, $std:ident $(<$parameter:ident>)?, $value:ty) => {
        #[doc = concat!("Stands for `std`'s `", stringify!($std), "`, with the same layout.")]
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $name $(<$parameter>)? (std::sync::atomic::$std $(<$parameter>)?);

        impl $(<$parameter>)? std::fmt::Debug for $name $(<$parameter>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.0, f)
            }
        }

        impl $(<$parameter>)? From<$value> for $name $(<$parameter>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        /// Methods that do the same as `std`'s of the same names; those that access the value make a step.
        #[expect(missing_docs, reason = "the names say it")]
        impl $(<$parameter>)? $name $(<$parameter>)? {
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$std::new(value))
            }

            /// # Safety
            /// The conditions of `std`'s method hold.
            #[inline]
            pub unsafe fn from_ptr<'a>(ptr: *mut $value) -> &'a Self {
                // SAFETY: the layout is that of the value.
                unsafe { &*ptr.cast() }
            }

            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            #[inline]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            #[inline]
            pub fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            #[inline]
            #[track_caller]
            pub fn load(&self, _: Ordering) -> $value {
                step(Access::Reads(ptr::from_ref(&self.0).addr()));
                self.0.load(ALL)
            }

            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, _: Ordering) {
                step(Access::Writes(ptr::from_ref(&self.0).addr()));
                self.0.store(value, ALL);
            }

            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, _: Ordering) -> $value {
                step(Access::Exchanges(ptr::from_ref(&self.0).addr()));
                self.0.swap(value, ALL)
            }

            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _: Ordering,
                _: Ordering,
            ) -> Result<$value, $value> {
                step(Access::Exchanges(ptr::from_ref(&self.0).addr()));
                self.0.compare_exchange(current, new, ALL, ALL)
            }

            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            #[inline]
            #[track_caller]
            pub fn fetch_update(
                &self,
                _: Ordering,
                _: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut old = self.load(ALL);
                loop {
                    let Some(new) = change(old) else { return Err(old) };
                    match self.compare_exchange(old, new, ALL, ALL) {
                        Ok(old) => return Ok(old),
                        Err(other) => old = other,
                    }
                }
            }
        }
    };
}

macro_rules! operations {
    ($name:ident, $value:ty: $($operation:ident)*) => {
        /// Methods that do the same as `std`'s of the same names; those that access the value make a step.
        #[expect(missing_docs, reason = "the names say it")]
        impl $name {
            $(
                #[inline]
                #[track_caller]
                pub fn $operation(&self, value: $value, _: Ordering) -> $value {
                    step(Access::Exchanges(ptr::from_ref(&self.0).addr()));
                    self.0.$operation(value, ALL)
                }
            )*
        }
    };
}

macro_rules! integer {
    ($name:ident, $value:ty) => {
        common!($name, $name, $value);
        operations!($name, $value: fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);
    };
}

integer!(AtomicU8, u8);
integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);
integer!(AtomicI32, i32);
integer!(AtomicI64, i64);
integer!(AtomicIsize, isize);
common!(AtomicBool, AtomicBool, bool);
operations!(AtomicBool, bool: fetch_and fetch_or fetch_xor);
common!(AtomicPtr, AtomicPtr<T>, *mut T);
