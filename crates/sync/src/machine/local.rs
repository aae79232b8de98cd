//! Thread-local values of virtual threads.

use super::scheduler::locals;
use std::any::Any;
use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

/// Declares thread-local values, as `std::thread_local` does.
#[macro_export]
macro_rules! machine_thread_local {
    () => {};
    ($(#[$about:meta])* $seen:vis static $name:ident: $type:ty = const $value:block; $($rest:tt)*) => {
        $crate::machine_thread_local!($(#[$about])* $seen static $name: $type = $value; $($rest)*);
    };
    ($(#[$about:meta])* $seen:vis static $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $(#[$about])*
        $seen static $name: $crate::machine::local::LocalKey<$type> = {
            fn make() -> $type {
                $value
            }
            ::std::thread_local! {
                static OUTSIDE: $type = make();
            }
            $crate::machine::local::LocalKey::new(make, &OUTSIDE)
        };
        $crate::machine_thread_local!($($rest)*);
    };
    ($(#[$about:meta])* $seen:vis static $name:ident: $type:ty = $value:expr) => {
        $crate::machine_thread_local!($(#[$about])* $seen static $name: $type = $value;);
    };
}

/// A thread-local value: each virtual thread has its own. Outside of machines, each thread of the operating system has
/// its own.
pub struct LocalKey<T: 'static> {
    make: fn() -> T,
    outside: &'static std::thread::LocalKey<T>,
}

impl<T: 'static> LocalKey<T> {
    /// Makes the key. [`machine_thread_local`] calls it.
    pub const fn new(make: fn() -> T, outside: &'static std::thread::LocalKey<T>) -> Self {
        Self { make, outside }
    }

    /// Calls `work` with the calling thread's value, which is made first if there is none.
    pub fn with<R>(&'static self, work: impl FnOnce(&T) -> R) -> R {
        match locals() {
            None => self.outside.with(work),
            Some(locals) => {
                let key = ptr::from_ref(self).addr();
                let known = locals.0.borrow().iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
                let value = known.unwrap_or_else(|| {
                    let value: Rc<dyn Any> = Rc::new((self.make)());
                    locals.0.borrow_mut().push((key, value.clone()));
                    value
                });
                work(value.downcast_ref().expect("the key's type"))
            }
        }
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Returns a copy of the calling thread's value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Sets the calling thread's value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Returns the calling thread's value, and leaves the default in its place.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }
}
