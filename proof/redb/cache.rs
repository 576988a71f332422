//! The read cache: pages that are wanted often are found without a lock, and handed out without their own counts.
//!
//! Lookups that take a shard's lock are counted. Enough of them pay for a *table* of the shard's pages. It is never changed, all
//! threads read it, and it has one owner. A page from there keeps the table, so its own count is left alone. The first page that is
//! taken from the shard takes the table with it.

use crate::tree_store::page_store::fast_hash::FastHasher64;
use crate::tree_store::page_store::lru_cache::LRUCache;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockWriteGuard};
use tenure::rcu::RcuCell;
use tenure::cache_line::CachePadded;
use tenure::owner::{Owner, Shared};

/// So many pay for a table, which takes barriers that interrupt the CPUs, and a clone of each page. A debug build pays at once, so
/// that tests meet tables.
const LOOKUPS: usize = if cfg!(debug_assertions) { 4 } else { 16_384 };
const LOOKUPS_BY_PAGE: usize = LOOKUPS / 256;

type Pages = LRUCache<Arc<[u8]>>;

struct Entry {
    offset: u64,
    page: Arc<[u8]>,
    is_used: AtomicBool,
}

/// Each page at the place of its hash, or after it. Half of the places are empty.
pub(super) struct Table(Vec<Option<Entry>>);

impl Table {
    fn new(pages: &Pages) -> Self {
        let mut table = Self(Vec::new());
        table.0.resize_with((2 * pages.len()).next_power_of_two(), || None);
        for (&offset, page) in pages.iter() {
            let place = table.place(offset);
            table.0[place] =
                Some(Entry { offset, page: Arc::clone(page), is_used: AtomicBool::new(false) });
        }
        table
    }

    /// Where the page is, or would be.
    fn place(&self, offset: u64) -> usize {
        let last = self.0.len() - 1;
        let hash = BuildHasherDefault::<FastHasher64>::default().hash_one(offset);
        let mut place = hash as usize & last;
        while self.0[place].as_ref().is_some_and(|entry| entry.offset != offset) {
            place = (place + 1) & last;
        }
        place
    }
}

/// A page's memory, and what keeps it.
#[derive(Clone)]
pub(super) struct Memory {
    bytes: NonNull<[u8]>,
    keeper: Keeper,
}

#[derive(Clone)]
enum Keeper {
    Page(Arc<[u8]>),
    Table(Shared<Table>, usize),
}

// SAFETY: the bytes are those of an `Arc<[u8]>`, which is `Send`.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn to_arc(&self) -> Arc<[u8]> {
        match &self.keeper {
            Keeper::Page(page) => Arc::clone(page),
            Keeper::Table(table, place) => {
                Arc::clone(&table.0[*place].as_ref().expect("a page was found here").page)
            }
        }
    }
}

impl From<Arc<[u8]>> for Memory {
    fn from(page: Arc<[u8]>) -> Self {
        Self { bytes: NonNull::from(&*page), keeper: Keeper::Page(page) }
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the keeper has the page's `Arc`, or a table that has it and is never changed. A write needs the only `Arc`.
        unsafe { self.bytes.as_ref() }
    }
}

pub(super) struct ReadCache {
    /// By shard.
    tables: RcuCell<Vec<Option<Shared<Table>>>>,
    shards: Vec<CachePadded<Shard>>,
}

struct Shard {
    pages: RwLock<Pages>,
    /// Those that took the lock since there was a table.
    lookups: AtomicUsize,
    owner: Mutex<Option<Owner<Table>>>,
}

impl ReadCache {
    pub(super) fn new(shards: u64) -> Self {
        let shard = || Shard {
            pages: RwLock::new(LRUCache::new()),
            lookups: AtomicUsize::new(0),
            owner: Mutex::new(None),
        };
        Self {
            tables: RcuCell::new((0..shards).map(|_| None).collect()),
            shards: (0..shards).map(|_| CachePadded::new(shard())).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.shards.len()
    }

    pub(super) fn get(&self, shard: usize, offset: u64) -> Option<Memory> {
        if let Some(table) = &self.tables.load()[shard] {
            let place = table.place(offset);
            if let Some(Entry { page, is_used, .. }) = &table.0[place] {
                // Written once, then only read.
                if !is_used.load(Ordering::Relaxed) {
                    is_used.store(true, Ordering::Relaxed);
                }
                let keeper = Keeper::Table(table.clone(), place);
                return Some(Memory { bytes: NonNull::from(&**page), keeper });
            }
        }
        let Shard { pages, lookups, .. } = &*self.shards[shard];
        let pages = pages.read().unwrap();
        let page = Arc::clone(pages.get(offset)?);
        let enough = LOOKUPS + LOOKUPS_BY_PAGE * pages.len();
        if lookups.fetch_add(1, Ordering::Relaxed) >= enough
            && lookups.swap(0, Ordering::Relaxed) >= enough
        {
            self.replace(shard, &pages, Some(Owner::new(Table::new(&pages))));
        }
        Some(Memory::from(page))
    }

    pub(super) fn write(&self, shard: usize) -> Writing<'_> {
        Writing { cache: self, shard, pages: self.shards[shard].pages.write().unwrap() }
    }

    /// The caller has the lock of the pages, so that none of a new table's has been removed.
    fn replace(&self, shard: usize, pages: &Pages, new: Option<Owner<Table>>) {
        let mut owner = self.shards[shard].owner.lock().unwrap();
        if owner.is_none() && new.is_none() {
            return;
        }
        if let Some(old) = &*owner {
            let used = |entry: &&Entry| entry.is_used.load(Ordering::Relaxed);
            for entry in old.share().0.iter().flatten().filter(used) {
                // A second chance.
                pages.get(entry.offset);
            }
        }
        self.tables.rcu(|tables| {
            let mut tables = tables.clone();
            tables[shard] = new.as_ref().map(Owner::share);
            tables
        });
        *owner = new;
    }
}

/// A shard that is changed.
pub(super) struct Writing<'c> {
    cache: &'c ReadCache,
    shard: usize,
    pages: RwLockWriteGuard<'c, Pages>,
}

impl Writing<'_> {
    pub(super) fn insert(&mut self, offset: u64, page: Arc<[u8]>) -> Option<Arc<[u8]>> {
        let replaced = self.pages.insert(offset, page);
        if replaced.is_some() {
            self.drop_table();
        }
        replaced
    }

    pub(super) fn remove(&mut self, offset: u64) -> Option<Arc<[u8]>> {
        let removed = self.pages.remove(offset);
        if removed.is_some() {
            self.drop_table();
        }
        removed
    }

    pub(super) fn pop_lowest_priority(&mut self) -> Option<(u64, Arc<[u8]>)> {
        // First: pages that were found in it have a second chance.
        self.drop_table();
        self.pages.pop_lowest_priority()
    }

    fn drop_table(&mut self) {
        self.cache.shards[self.shard].lookups.store(0, Ordering::Relaxed);
        self.cache.replace(self.shard, &self.pages, None);
    }
}
