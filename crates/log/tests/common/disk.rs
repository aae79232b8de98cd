//! A disk in memory whose power can fail at any operation.

use hotrow_log::disk::{Disk, File};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};

/// The bytes that the device keeps or loses as a whole.
const SECTOR: usize = 512;

/// Files in memory, with what of them is durable.
#[derive(Debug, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    folders: BTreeSet<String>,
    operations: u64,
    /// The number of the operation at which the power fails.
    fails_at: Option<u64>,
    /// The number of the operation that fails, while later ones do not.
    fails_once_at: Option<u64>,
    /// The bytes that are said to be free, if not as many as one likes.
    free_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// The writes since the last sync.
    writes: Vec<(usize, Vec<u8>)>,
}

#[derive(Debug)]
struct MemoryFile {
    state: Arc<Mutex<State>>,
    inode: usize,
}

fn not_found(name: &str) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("there is no {name}"))
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Applies a write to the bytes of a file.
fn apply(bytes: &mut Vec<u8>, at: usize, written: &[u8]) {
    let end = at + written.len();
    bytes.resize(bytes.len().max(end), 0);
    bytes[at..end].copy_from_slice(written);
}

/// Counts an operation that changes something.
fn change(state: &Mutex<State>) -> io::Result<MutexGuard<'_, State>> {
    let mut state = state.lock().expect("no panic under the latch");
    let number = state.operations;
    state.operations += 1;
    if state.fails_at.is_some_and(|at| number >= at) {
        return Err(io::Error::other("the power has failed"));
    }
    if state.fails_once_at == Some(number) {
        return Err(io::Error::new(ErrorKind::StorageFull, "no space is left"));
    }
    Ok(state)
}

/// Takes the state to be read only.
fn look(state: &Mutex<State>) -> io::Result<MutexGuard<'_, State>> {
    let state = state.lock().expect("no panic under the latch");
    if state.fails_at.is_some_and(|at| state.operations > at) {
        return Err(io::Error::other("the power has failed"));
    }
    Ok(state)
}

impl MemoryDisk {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the latch")
    }

    /// Returns the number of operations so far that change something.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Makes the power fail at the operation with this number: it and all later ones do nothing and return an error.
    pub fn fail_at(&self, operation: u64) {
        self.state().fails_at = Some(operation);
    }

    /// Makes the operation with this number fail, but not later ones. If it is a sync, the bytes that it was to make
    /// durable will not be durable after another sync either.
    pub fn fail_once_at(&self, operation: u64) {
        self.state().fails_once_at = Some(operation);
    }

    /// Sets the bytes that are said to be free.
    pub fn set_free_bytes(&self, bytes: u64) {
        self.state().free_bytes = Some(bytes);
    }

    /// Returns the disk as it is after the power has failed and come back: some of what was not synced is there.
    pub fn after_crash(&self, random: &mut fastrand::Rng) -> Arc<Self> {
        let mut state = self.state().clone();
        let all: BTreeSet<_> = state.names.keys().chain(state.durable_names.keys()).cloned().collect();
        for name in all {
            let new = if random.bool() { &state.names } else { &state.durable_names };
            match new.get(&name).copied() {
                Some(inode) => drop(state.durable_names.insert(name, inode)),
                None => drop(state.durable_names.remove(&name)),
            }
        }
        for inode in &mut state.inodes {
            for (at, written) in std::mem::take(&mut inode.writes) {
                let kept = match random.u8(..4) {
                    0 => 0,
                    1 => random.usize(..=written.len() / SECTOR) * SECTOR,
                    _ => written.len(),
                };
                if kept > 0 {
                    apply(&mut inode.durable, at, &written[..kept]);
                }
            }
            inode.bytes = inode.durable.clone();
        }
        state.names = state.durable_names.clone();
        (state.operations, state.fails_at, state.fails_once_at) = (0, None, None);
        Arc::new(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// Returns a copy that shares nothing with this disk.
    pub fn copy(&self) -> Arc<Self> {
        Arc::new(Self { state: Arc::new(Mutex::new(self.state().clone())) })
    }

    /// Returns the names of all files.
    pub fn names(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    /// Returns the bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        state.inodes[state.names[name]].bytes.clone()
    }

    /// Sets the bytes of a file, durably.
    pub fn set_bytes(&self, name: &str, bytes: Vec<u8>) {
        let mut state = self.state();
        let inode = state.names[name];
        (state.inodes[inode].durable, state.inodes[inode].bytes) = (bytes.clone(), bytes);
    }
}

impl Disk for MemoryDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut state = change(&self.state)?;
        let folder = folder_of(name);
        if !folder.is_empty() && !state.folders.contains(folder) {
            return Err(not_found(folder));
        }
        if state.names.contains_key(name) {
            return Err(io::Error::new(ErrorKind::AlreadyExists, name));
        }
        state.inodes.push(Inode::default());
        let inode = state.inodes.len() - 1;
        state.names.insert(name.to_owned(), inode);
        Ok(Arc::new(MemoryFile { state: self.state.clone(), inode }))
    }

    fn open(&self, name: &str, _writes: bool) -> io::Result<Arc<dyn File>> {
        let inode = look(&self.state)?.names.get(name).copied().ok_or_else(|| not_found(name))?;
        Ok(Arc::new(MemoryFile { state: self.state.clone(), inode }))
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        // A folder is durable at once: the tests are about files.
        change(&self.state)?.folders.insert(folder.to_owned());
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let state = look(&self.state)?;
        let files = state.names.keys().filter(|name| folder_of(name) == folder);
        let names = files.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
        let folders = state.folders.iter().filter(|_| folder.is_empty()).cloned();
        Ok(names.chain(folders).collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = change(&self.state)?;
        let inode = state.names.remove(from).ok_or_else(|| not_found(from))?;
        state.names.insert(to.to_owned(), inode);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        change(&self.state)?.names.remove(name).map(drop).ok_or_else(|| not_found(name))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let mut state = change(&self.state)?;
        let names = state.names.clone();
        state.durable_names.retain(|name, _| folder_of(name) != folder);
        state.durable_names.extend(names.into_iter().filter(|(name, _)| folder_of(name) == folder));
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(look(&self.state)?.free_bytes.unwrap_or(u64::MAX))
    }
}

impl File for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(look(&self.state)?.inodes[self.inode].bytes.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let state = look(&self.state)?;
        let from = state.inodes[self.inode].bytes.get(offset as usize..).unwrap_or_default();
        let found = from.get(..bytes.len()).ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = change(&self.state)?;
        let inode = &mut state.inodes[self.inode];
        apply(&mut inode.bytes, offset as usize, bytes);
        inode.writes.push((offset as usize, bytes.to_vec()));
        Ok(())
    }

    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = change(&self.state)?;
        let inode = &mut state.inodes[self.inode];
        apply(&mut inode.bytes, offset as usize, bytes);
        apply(&mut inode.durable, offset as usize, bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let changed = change(&self.state);
        let is_synced = changed.is_ok();
        let mut state = changed.or_else(|error| match error.kind() {
            ErrorKind::StorageFull => Ok(self.state.lock().expect("no panic under the latch")),
            _ => Err(error),
        })?;
        let inode = &mut state.inodes[self.inode];
        for (at, written) in std::mem::take(&mut inode.writes) {
            if is_synced {
                apply(&mut inode.durable, at, &written);
            }
        }
        if is_synced { Ok(()) } else { Err(io::Error::new(ErrorKind::StorageFull, "no space is left")) }
    }
}
