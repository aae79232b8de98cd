//! A disk in memory that does everything a disk is allowed to do: what was not synced may be lost, torn or kept in any
//! order, a sync may fail, and the power may fail at any operation. Everything follows from a seed.
//!
//! | what happens | what is left of it after the power came back |
//! | --- | --- |
//! | bytes are written, not synced | each sector of 512 bytes has its content after one of the writes, or before all |
//! | a name is created, renamed or removed, and its folder not synced | the change was made, or was not |
//! | a sync fails | each sector was written or not, and no later sync writes it, unless it is written again |
//!
//! Until the power fails, reads see all writes, even those whose sync has failed: this is the memory of the operating
//! system, which survives the end of a process.

use super::{Disk, File};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::ops::Range;

/// The bytes that the device writes as a whole or not at all.
pub const SECTOR: usize = 512;

/// A disk in memory. A clone is the same disk.
#[derive(Clone, Debug)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug)]
struct State {
    random: fastrand::Rng,
    inodes: Vec<Inode>,
    names: Names,
    durable_names: Names,
    /// The changes of names since the last syncs of their folders, in their order.
    changes: Vec<Change>,
    faults: Faults,
    operations: u64,
    syncs: u64,
    writes: u64,
}

/// The faults that are planned.
#[derive(Clone, Debug, Default)]
struct Faults {
    /// The number of the operation at which the power fails.
    power_at: Option<u64>,
    /// The number of the sync that fails.
    sync_at: Option<u64>,
    /// The number of the write that fails in the middle.
    write_at: Option<u64>,
    /// The bytes that all files may have together.
    capacity: Option<u64>,
}

/// The file or folder that a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File(usize),
}

type Names = BTreeMap<String, Entry>;

/// A change of names.
#[derive(Clone, Debug)]
enum Change {
    Made(String, Entry),
    Renamed(String, String, Entry),
    Removed(String),
}

#[derive(Clone, Debug, Default)]
struct Inode {
    /// The content as the operating system sees it.
    bytes: Vec<u8>,
    /// The content of the device.
    durable: Vec<u8>,
    /// For each sector, the writes to it since it was synced.
    pending: BTreeMap<usize, Vec<Piece>>,
}

/// A write within a sector.
#[derive(Clone, Debug)]
struct Piece {
    offset: usize,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct SimulatedFile {
    state: Arc<Mutex<State>>,
    inode: usize,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(|poison| poison.into_inner())
}

fn not_found(name: &str) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("there is no {name}"))
}

fn power() -> io::Error {
    io::Error::other("the power has failed")
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    content.resize(content.len().max(end), 0);
    content[offset..end].copy_from_slice(bytes);
}

impl Change {
    /// The folder to whose entries the change belongs.
    fn folder(&self) -> &str {
        match self {
            Change::Made(name, _) | Change::Removed(name) | Change::Renamed(name, ..) => folder_of(name),
        }
    }

    fn apply(self, names: &mut Names) {
        match self {
            Change::Made(name, entry) => {
                names.insert(name, entry);
            }
            Change::Renamed(from, to, entry) => {
                names.remove(&from);
                names.insert(to, entry);
            }
            Change::Removed(name) => {
                names.remove(&name);
            }
        }
    }
}

impl Inode {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.bytes, offset, bytes);
        let mut at = 0;
        while at < bytes.len() {
            let sector = (offset + at) / SECTOR;
            let end = bytes.len().min((sector + 1) * SECTOR - offset);
            let piece = Piece { offset: offset + at, bytes: bytes[at..end].to_vec() };
            self.pending.entry(sector).or_default().push(piece);
            at = end;
        }
    }

    /// Writes sectors to the device as they are in memory.
    fn sync(&mut self, sectors: Range<usize>) {
        let mut behind = self.pending.split_off(&sectors.start);
        let mut after = behind.split_off(&sectors.end);
        for sector in behind.into_keys() {
            self.write_back(sector);
        }
        self.pending.append(&mut after);
    }

    fn write_back(&mut self, sector: usize) {
        let end = self.bytes.len().min((sector + 1) * SECTOR);
        put(&mut self.durable, sector * SECTOR, &self.bytes[sector * SECTOR..end]);
    }

    /// Writes some of the sectors of a sync that fails. No later sync writes the others, unless they are written again.
    fn fail_sync(&mut self, sectors: Range<usize>, random: &mut fastrand::Rng) {
        let mut behind = self.pending.split_off(&sectors.start);
        let mut after = behind.split_off(&sectors.end);
        for sector in behind.into_keys() {
            if random.bool() {
                self.write_back(sector);
            }
        }
        self.pending.append(&mut after);
    }

    /// Leaves the content of the device. Each sector that was not synced has its content after one of the writes since
    /// the last sync, or before all of them.
    fn crash(&mut self, fate: Fate, random: &mut fastrand::Rng) {
        for pieces in std::mem::take(&mut self.pending).into_values() {
            let kept = fate.kept(pieces.len(), random);
            for piece in &pieces[..kept] {
                put(&mut self.durable, piece.offset, &piece.bytes);
            }
        }
        self.bytes.clone_from(&self.durable);
    }
}

/// How much a power failure leaves of the changes that were not synced.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Nothing,
    Everything,
    /// A random part: each sector and each name has a fate of its own.
    Any,
}

impl Fate {
    fn choose(random: &mut fastrand::Rng) -> Self {
        match random.u8(..4) {
            0 => Fate::Nothing,
            1 => Fate::Everything,
            _ => Fate::Any,
        }
    }

    /// Returns how many of several writes, in their order, were made.
    fn kept(self, of: usize, random: &mut fastrand::Rng) -> usize {
        match self {
            Fate::Nothing => 0,
            Fate::Everything => of,
            Fate::Any => random.usize(..=of),
        }
    }
}

impl State {
    /// Counts an operation that changes something. Fails if the power has failed, or fails at this operation.
    fn begin(&mut self) -> io::Result<()> {
        let number = self.operations;
        self.operations += 1;
        match self.faults.power_at {
            Some(at) if number >= at => Err(power()),
            _ => Ok(()),
        }
    }

    /// Checks that the power has not failed.
    fn look(&self) -> io::Result<()> {
        match self.faults.power_at {
            Some(at) if self.operations > at => Err(power()),
            _ => Ok(()),
        }
    }

    fn file(&self, name: &str) -> io::Result<usize> {
        match self.names.get(name) {
            Some(Entry::File(inode)) => Ok(*inode),
            _ => Err(not_found(name)),
        }
    }

    fn has_folder(&self, folder: &str) -> bool {
        folder.is_empty() || self.names.get(folder) == Some(&Entry::Folder)
    }

    fn change(&mut self, change: Change) {
        change.clone().apply(&mut self.names);
        self.changes.push(change);
    }

    /// Returns the bytes that all files have. A file that was removed does not count, even if a crash can bring it
    /// back.
    fn used(&self) -> u64 {
        let named: BTreeSet<usize> = self
            .names
            .values()
            .filter_map(|entry| match entry {
                Entry::File(inode) => Some(*inode),
                Entry::Folder => None,
            })
            .collect();
        named.into_iter().map(|inode| self.inodes[inode].bytes.len() as u64).sum()
    }

    fn free(&self) -> u64 {
        self.faults.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used()))
    }

    /// Writes bytes into the memory of the operating system, as many as there is room for.
    fn write(&mut self, inode: usize, bytes: &[u8], offset: u64) -> io::Result<()> {
        let begun = self.begin();
        let number = self.writes;
        self.writes += 1;
        let offset = offset as usize;
        let grows = (offset + bytes.len()).saturating_sub(self.inodes[inode].bytes.len()) as u64;
        let free = self.free();
        let (length, error) = match begun {
            Err(error) => (self.random.usize(..=bytes.len()), Some(error)),
            Ok(()) if self.faults.write_at == Some(number) => {
                (self.random.usize(..=bytes.len()), Some(io::Error::other("the device reports an error")))
            }
            Ok(()) if grows > free => {
                let missing = (grows - free) as usize;
                (bytes.len().saturating_sub(missing), Some(io::Error::new(ErrorKind::StorageFull, "no space is left")))
            }
            Ok(()) => (bytes.len(), None),
        };
        // After the power has failed, nothing is written any more.
        if self.faults.power_at.is_none_or(|at| self.operations <= at + 1) {
            self.inodes[inode].write(offset, &bytes[..length]);
        }
        error.map_or(Ok(()), Err)
    }

    fn sync(&mut self, inode: usize, sectors: Range<usize>) -> io::Result<()> {
        self.begin()?;
        let number = self.syncs;
        self.syncs += 1;
        let file = &mut self.inodes[inode];
        if self.faults.sync_at == Some(number) {
            file.fail_sync(sectors, &mut self.random);
            return Err(io::Error::other("the device reports an error of an earlier write"));
        }
        file.sync(sectors);
        Ok(())
    }
}

impl SimulatedDisk {
    /// Makes an empty disk. The seed decides everything that is left to chance.
    pub fn new(seed: u64) -> Arc<Self> {
        let state = State {
            random: fastrand::Rng::with_seed(seed),
            inodes: Vec::new(),
            names: Names::new(),
            durable_names: Names::new(),
            changes: Vec::new(),
            faults: Faults::default(),
            operations: 0,
            syncs: 0,
            writes: 0,
        };
        Arc::new(Self { state: Arc::new(Mutex::new(state)) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns the number of operations so far that change something or make something durable.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Returns the number of syncs of files so far, durable writes among them.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Returns the number of writes so far.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    /// Makes the power fail at the operation with this number, counted from zero. It and all later ones return an
    /// error. If it is a write, a part of it may have been made.
    pub fn fail_power_at(&self, operation: u64) {
        self.state().faults.power_at = Some(operation);
    }

    /// Makes the sync with this number fail, counted from zero over all files: some of the bytes that it was to make
    /// durable are durable, and no later sync makes the others durable, unless they are written again.
    pub fn fail_sync_at(&self, sync: u64) {
        self.state().faults.sync_at = Some(sync);
    }

    /// Makes the write with this number fail, counted from zero over all files, after some of its bytes.
    pub fn fail_write_at(&self, write: u64) {
        self.state().faults.write_at = Some(write);
    }

    /// Sets the number of bytes that all files may have together; `None` stands for no limit. A write beyond it writes
    /// what fits, and fails.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().faults.capacity = bytes;
    }

    /// Returns a disk as this one may be after the power has failed and come back. It shares nothing with this one,
    /// which stays as it is. The faults that were planned are forgotten, but not the capacity. Operations, syncs and
    /// writes are counted from zero.
    pub fn crash(&self) -> Arc<Self> {
        let mut this = self.state();
        let mut random = this.random.fork();
        let mut state = this.clone();
        drop(this);
        let (names_fate, bytes_fate) = (Fate::choose(&mut random), Fate::choose(&mut random));
        for change in std::mem::take(&mut state.changes) {
            if names_fate.kept(1, &mut random) == 1 {
                change.apply(&mut state.durable_names);
            }
        }
        // What lies in a folder whose name was lost is lost.
        let folders: BTreeSet<String> = state
            .durable_names
            .iter()
            .filter(|(_, entry)| **entry == Entry::Folder)
            .map(|(name, _)| name.clone())
            .collect();
        state.durable_names.retain(|name, _| folder_of(name).is_empty() || folders.contains(folder_of(name)));
        state.names.clone_from(&state.durable_names);
        for inode in &mut state.inodes {
            inode.crash(bytes_fate, &mut random);
        }
        state.faults = Faults { capacity: state.faults.capacity, ..Faults::default() };
        (state.operations, state.syncs, state.writes, state.random) = (0, 0, 0, random);
        Arc::new(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// Returns a copy of the disk that shares nothing with it and has another seed. The faults that were planned are
    /// forgotten, but not the capacity. Operations, syncs and writes are counted from zero.
    pub fn copy(&self, seed: u64) -> Arc<Self> {
        let mut state = self.state().clone();
        state.faults = Faults { capacity: state.faults.capacity, ..Faults::default() };
        (state.operations, state.syncs, state.writes) = (0, 0, 0);
        state.random = fastrand::Rng::with_seed(seed);
        Arc::new(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// Changes one bit of a file, on the device and in memory: a latent error of the medium.
    ///
    /// # Panics
    /// If there is no such file, or it is shorter.
    pub fn flip_bit(&self, name: &str, byte: u64, bit: u32) {
        let mut state = self.state();
        let inode = state.file(name).expect("the file exists");
        let inode = &mut state.inodes[inode];
        inode.bytes[byte as usize] ^= 1 << bit;
        if let Some(durable) = inode.durable.get_mut(byte as usize) {
            *durable ^= 1 << bit;
        }
    }

    /// Returns the bytes of a file as a process reads them.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        state.inodes[state.file(name).expect("the file exists")].bytes.clone()
    }
}

impl Disk for SimulatedDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut state = self.state();
        state.begin()?;
        if !state.has_folder(folder_of(name)) {
            return Err(not_found(folder_of(name)));
        }
        if state.names.contains_key(name) {
            return Err(io::Error::new(ErrorKind::AlreadyExists, format!("{name} exists")));
        }
        state.inodes.push(Inode::default());
        let inode = state.inodes.len() - 1;
        state.change(Change::Made(name.to_owned(), Entry::File(inode)));
        Ok(Arc::new(SimulatedFile { state: self.state.clone(), inode }))
    }

    fn open(&self, name: &str, _writes: bool) -> io::Result<Arc<dyn File>> {
        let state = self.state();
        state.look()?;
        Ok(Arc::new(SimulatedFile { state: self.state.clone(), inode: state.file(name)? }))
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        let mut state = self.state();
        state.begin()?;
        match state.names.get(folder) {
            Some(Entry::Folder) => {}
            Some(Entry::File(_)) => {
                return Err(io::Error::new(ErrorKind::AlreadyExists, format!("{folder} is a file")));
            }
            None => state.change(Change::Made(folder.to_owned(), Entry::Folder)),
        }
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let state = self.state();
        state.look()?;
        if !state.has_folder(folder) {
            return Err(not_found(folder));
        }
        let names = state.names.keys().filter(|name| folder_of(name) == folder);
        Ok(names.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned()).collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.begin()?;
        let inode = state.file(from)?;
        state.change(Change::Renamed(from.to_owned(), to.to_owned(), Entry::File(inode)));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.begin()?;
        state.file(name)?;
        state.change(Change::Removed(name.to_owned()));
        Ok(())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let mut state = self.state();
        state.begin()?;
        if !state.has_folder(folder) {
            return Err(not_found(folder));
        }
        for change in std::mem::take(&mut state.changes) {
            if change.folder() == folder {
                change.apply(&mut state.durable_names);
            } else {
                state.changes.push(change);
            }
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let state = self.state();
        state.look()?;
        Ok(state.free())
    }
}

impl File for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        let state = lock(&self.state);
        state.look()?;
        Ok(state.inodes[self.inode].bytes.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let state = lock(&self.state);
        state.look()?;
        let content = state.inodes[self.inode].bytes.get(offset as usize..).unwrap_or_default();
        bytes.copy_from_slice(content.get(..bytes.len()).ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        lock(&self.state).write(self.inode, bytes, offset)
    }

    fn write_durably_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.write(self.inode, bytes, offset)?;
        let first = offset as usize / SECTOR;
        state.sync(self.inode, first..(offset as usize + bytes.len()).div_ceil(SECTOR).max(first))
    }

    fn sync(&self) -> io::Result<()> {
        lock(&self.state).sync(self.inode, 0..usize::MAX)
    }
}
