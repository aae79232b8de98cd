//! The cell for memory that a latch or an index protects: `std`'s cell with loom's interface.
//!
//! loom checks that accesses to its cell never race; it sees those made through [`UnsafeCell::with`] and
//! [`UnsafeCell::with_mut`].

/// `std`'s `UnsafeCell` with loom's interface. The memory in it is protected by a latch or another protocol between
/// threads.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Makes a cell with `value` in it.
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Calls `access` with the value's address, to read it.
    #[inline]
    pub fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0.get())
    }

    /// Calls `access` with the value's address, to write it.
    #[inline]
    pub fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}
