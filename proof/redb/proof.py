import pathlib

from parts.rust import CrateProof

BTREE, STORE = "src/tree_store/btree.rs", "src/tree_store/page_store"
CACHE, BASE = f"{STORE}/cached_file.rs", f"{STORE}/base.rs"


def borrow(source):
    """A lookup borrows the root, which its table keeps, and had cloned it."""
    source.substitute(BTREE, r"self\.get_helper\(root_page\.clone\(\), (.*)\)$", r"self.get_below(root_page, \1)")
    source.substitute(BTREE, r"^(?=.*\n    fn get_helper\()", """\
    fn get_below(&self, root: &PageImpl, query: &[u8]) -> Result<Option<AccessGuard<'static, V>>> {
        if root.memory()[0] != BRANCH {
            return self.get_helper(root.clone(), query);
        }
        let (_, child) = BranchAccessor::new(root, K::fixed_width()).child_for_key::<K>(query);
        self.get_helper(self.mem.get_page_extended(child, self.hint)?, query)
    }

""")


def edit(source):
    source.depend()
    borrow(source)
    source.add(pathlib.Path(__file__).parent / "cache.rs", f"{STORE}/read_cache.rs")
    source.after(f"{STORE}/mod.rs", "^mod page_manager;", "mod read_cache;\n")
    # What a page has of its memory.
    source.after(BASE, "^use .*MAX_MAX_PAGE_ORDER;", "use crate::tree_store::page_store::read_cache::Memory;\n")
    source.substitute(BASE, r"^    pub\(super\) mem: Arc<\[u8\]>,", "    pub(super) mem: Memory,")
    source.substitute(BASE, r"^        self\.mem\.clone\(\)", "        self.mem.to_arc()")
    source.substitute(BASE, r"self\.mem\.as_ref\(\)", "&self.mem")
    # The cache.
    source.after(CACHE, "^use .*LRUCache;", "use crate::tree_store::page_store::read_cache::{Memory, ReadCache};\n")
    source.substitute(CACHE, r"^use std::sync::\{Arc, Mutex, RwLock\};", "use std::sync::{Arc, Mutex};")
    source.substitute(CACHE, r"Vec<RwLock<LRUCache<Arc<\[u8\]>>>>", "ReadCache")
    source.substitute(CACHE, r"let read_cache = \(0\.\.(.*)\)\n.*\n.*\.collect\(\);", r"let read_cache = ReadCache::new(\1);")
    source.substitute(CACHE, r"self\.read_cache\[cache_slot\]\.write\(\)\.unwrap\(\)", "self.read_cache.write(cache_slot)", count=5)
    found = r"\(offset\)((?:.*\n){4} +return Ok\()cached\.clone\(\)"
    source.substitute(CACHE, rf" = lock\.get{found}", r" = lock.get(offset)\1Memory::from(cached.clone())")
    source.substitute(CACHE, rf"^ +let read_lock = .*\n(.* = )read_lock\.get{found}", r"\1self.read_cache.get(cache_slot, offset)\2cached")
    source.substitute(CACHE, r"hint: PageHint\) -> Result<Arc<\[u8\]>>", "hint: PageHint) -> Result<Memory>")
    source.substitute(CACHE, r"^(        if removed > 0 \{\n.*\n        \}\n\n +)Ok\(buffer\)", r"\1Ok(Memory::from(buffer))")
    # A page that is written may still be in the table of a reader, which then has the only other copy.
    source.substitute(CACHE, r"Arc::get_mut\(&mut self\.data\)\.unwrap\(\)", "Arc::make_mut(&mut self.data)")


proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="redb 4.0.0: pages with a count each, behind locks, which every lookup writes; Owner and RcuCell, a table of pages for each shard",
    crate="redb", version="4.0.0", edit=edit, also=("the root borrowed, alone", borrow), theirs=("4.1.0", "4.1.0"),
    dependencies='redb = { path = "PATH" }',
    cases={
        "2 threads, one transaction each, gets/s": ["2", "10000", "1000000000"],
        "8 threads": ["8", "10000", "1000000000"],
        "1 thread": ["1", "10000", "1000000000"],
        "2 threads, a transaction for each get": ["2", "10000", "1"],
        "1 thread commits one value, the other gets, 100 in a transaction": ["2", "10000", "100", "writer"],
        "1 thread commits, commits/s": ["1", "10000", "1", "writer"],
        "2 threads, a cache of a quarter of the leaves": ["2", "100000", "1000000000", "misses"],
    },
    record={"gets": (["2", "10000", "1000000000"], ["PageImpl::clone"], "revocable")},
    tests=["--lib", "--test", "basic_tests", "--test", "multithreading_tests"],
)
