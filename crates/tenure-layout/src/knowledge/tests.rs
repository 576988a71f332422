use super::*;
use crate::fixtures::Maker;
use tenure_debuginfo::model::{Qualifier, TypeId, TypeKind};

fn of_name(name: &str) -> Option<Role> {
    let mut maker = Maker::new();
    let id = maker.number(name, 4);
    Knowledge::builtin().roles(&maker.finish_dwarf(), None).of_type(id)
}

/// The role of the type's only member, by the built-in rules and `rules`.
fn of_member(ty: &str, member: &str, member_type: &str, rules: &str) -> Option<Role> {
    let mut maker = Maker::new();
    let inner = maker.number(member_type, 4);
    let id = maker.add(ty, 4, &[(member, 0, inner)]);
    roles(&maker.finish_dwarf(), rules).of_member(id, 0)
}

/// Roles by the built-in rules and others.
fn roles(model: &Model, rules: &str) -> Roles {
    Knowledge::builtin().with(&Rules::parse(rules, "r.toml").unwrap()).roles(model, None)
}

#[test]
fn every_built_in_file_is_well_formed_and_has_no_checks() {
    for (file, text) in BUILTIN {
        let rules = Rules::parse(text, file).unwrap_or_else(|error| panic!("{error}"));
        assert!(rules.count() > 0 && rules.checks.is_empty(), "{file}");
    }
}

/// As `llvm-dwarfdump` shows them in programs compiled by GCC 12 and rustc 1.95, and `pahole` in BTF.
#[test]
fn names_as_compilers_write_them_are_known() {
    for (name, role) in [
        ("atomic_t", Role::Atomic),
        ("refcount_t", Role::Count),
        ("rcuref_t", Role::Count),
        ("seqcount_spinlock_t", Role::Sequence),
        ("raw_spinlock_t", Role::Lock),
        ("static_key_false", Role::ReadMostly),
        ("callback_head", Role::Cold),
        ("local64_t", Role::Plain),
        ("std::atomic<std::shared_ptr<int> >", Role::Atomic),
        ("std::__atomic_base<long unsigned int>", Role::Atomic),
        ("std::_V2::condition_variable_any", Role::Lock),
        ("std::counting_semaphore<4>", Role::Lock),
        ("absl::lts_20240722::Mutex", Role::Lock),
        ("absl::lts_20240722::cord_internal::RefcountAndFlags", Role::Count),
        ("core::sync::atomic::AtomicPtr<core::sync::atomic::AtomicPtr<()>>", Role::Atomic),
        ("std::sys::sync::mutex::futex::Mutex", Role::Lock),
        ("std::sys::unix::locks::futex_mutex::Mutex", Role::Lock),
        ("std::sys::sync::once::futex::Once", Role::ReadMostly),
        ("tokio::loom::std::atomic_usize::AtomicUsize", Role::Atomic),
        ("portable_atomic::imp::core_atomic::AtomicU64", Role::Atomic),
        ("tenure::count::ticket::TicketRef<tenure::memory::native::Native>", Role::Count),
    ] {
        assert_eq!(of_name(name), Some(role), "{name}");
    }
    for name in [
        "int",
        "dst_entry",
        "list_head",
        "std::shared_ptr<int>",
        "std::sync::poison::mutex::Mutex<core::sync::atomic::AtomicU64>",
        "alloc::sync::ArcInner<u32>",
        "lock_api::mutex::Mutex<parking_lot::raw_mutex::RawMutex, u8>",
    ] {
        assert_eq!(of_name(name), None, "{name}");
    }
}

#[test]
fn members_as_compilers_write_them_are_known() {
    for (ty, member, member_type, role) in [
        ("dst_entry", "__refcnt", "atomic_t", Role::Count),
        ("net", "fnhe_genid", "atomic_t", Role::ReadMostly),
        ("sock", "sk_drops", "atomic_t", Role::Atomic),
        ("dst_entry", "__pad", "int", Role::Cold),
        ("std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>", "_M_use_count", "int", Role::Count),
        ("alloc::sync::ArcInner<u32>", "weak", "usize", Role::Cold),
        ("bytes::bytes::Shared", "ref_cnt", "core::sync::atomic::AtomicUsize", Role::Count),
        ("spin::mutex::spin::SpinMutex<u32, spin::relax::Spin>", "lock", "bool", Role::Lock),
        ("S", "_vptr.S", "int", Role::ReadMostly),
    ] {
        assert_eq!(of_member(ty, member, member_type, ""), Some(role), "{ty}.{member}");
    }
    assert_eq!(of_member("dst_entry", "paddr", "int", ""), None);
}

#[test]
fn a_member_s_rule_wins_over_its_type_s_and_a_user_s_over_all() {
    let of = |rules| of_member("entry", "refs", "atomic_t", rules);
    assert_eq!(of(""), Some(Role::Count));
    assert_eq!(of("[members]\n'entry.refs' = 'cold'"), Some(Role::Cold));
    assert_eq!(of("[members]\n'entry.refs' = 'cold'\n'*.refs' = 'lock'"), Some(Role::Cold));
    assert_eq!(of("[members]\n'*.re*' = 'cold'\n'e*.refs' = 'lock'"), Some(Role::Lock));
    assert_eq!(of("[members]\n'*.refs' = 'lock'\n'ent*.refs' = 'cold'"), Some(Role::Cold));
    assert_eq!(of("[types]\n'atomic_t' = 'plain'"), Some(Role::Plain));
    assert_eq!(of("[types]\n'atom*' = 'written'"), Some(Role::Written));
    assert_eq!(of("[atomics]\n'refs' = 'atomic'"), Some(Role::Atomic));
    assert_eq!(of("[atomics]\n'entry.refs' = 'sequence'\n'refs' = 'lock'"), Some(Role::Sequence));
    // The rule is for the whole member, not its type: no name refines it.
    assert_eq!(of("[members]\n'entry.refs' = 'atomic'"), Some(Role::Atomic));
    let pad = of_member("entry", "__pad", "counter_t", "[types]\ncounter_t = 'atomic'");
    assert_eq!(pad, Some(Role::Atomic));
}

#[test]
fn of_several_names_the_outermost_that_is_known_wins() {
    let mut maker = Maker::new();
    let spinlock = maker.add("spinlock", 4, &[("raw", 0, maker.int)]);
    let spinlock_t = maker.alias("spinlock_t", spinlock);
    let volatile = maker.builder.add("", 0, TypeKind::Qualified(Qualifier::Volatile, spinlock_t));
    let my_lock = maker.alias("my_lock", volatile);
    let array = maker.array(my_lock, 4);
    let model = maker.finish();
    let roles = |text| {
        let roles = roles(&model, text);
        [spinlock, spinlock_t, my_lock, array].map(|id| roles.of_type(id).unwrap())
    };
    use Role::{Cold, Lock, Plain};
    assert_eq!(roles(""), [Lock, Lock, Lock, Lock]);
    assert_eq!(roles("[types]\nmy_lock = 'cold'"), [Lock, Lock, Cold, Cold]);
    assert_eq!(roles("[types]\nspinlock = 'cold'"), [Cold, Cold, Cold, Cold]);
    assert_eq!(roles("[types]\nspinlock = 'cold'\nmy_lock = 'plain'"), [Cold, Cold, Plain, Plain]);
}

#[test]
fn qualifiers_say_what_a_value_is_where_no_name_does() {
    let mut maker = Maker::new();
    let int = maker.int;
    let mut qualified = |how| maker.builder.add("", 0, TypeKind::Qualified(how, int));
    let (atomic, constant) = (qualified(Qualifier::Atomic), qualified(Qualifier::Const));
    let alias = maker.alias("atomic_foo", atomic);
    let counted = maker.alias("refcount_t", atomic);
    let ty = maker.add("s", 8, &[("hits", 0, alias), ("refcnt", 4, alias)]);
    let roles = roles(&maker.finish_dwarf(), "");
    assert_eq!(roles.of_type(int), None);
    assert_eq!(roles.of_type(atomic), Some(Role::Atomic));
    assert_eq!(roles.of_type(constant), Some(Role::ReadMostly));
    assert_eq!(roles.of_type(counted), Some(Role::Count));
    assert_eq!(roles.of_member(ty, 0), Some(Role::Atomic));
    assert_eq!(roles.of_member(ty, 1), Some(Role::Count));
}

#[test]
fn pointers_are_known_by_what_they_point_to() {
    let mut maker = Maker::new();
    let function = maker.builder.add("", 0, TypeKind::Function);
    let ops = maker.add("dst_ops", 8, &[]);
    let constant = maker.builder.add("", 0, TypeKind::Qualified(Qualifier::Const, ops));
    let other = maker.add("sk_buff", 8, &[]);
    let pointers = [function, constant, other].map(|to| maker.pointer_to(to));
    let nothing = maker.pointer;
    let roles = roles(&maker.finish(), "");
    let read_mostly = Some(Role::ReadMostly);
    assert_eq!(pointers.map(|id| roles.of_type(id)), [read_mostly, read_mostly, None]);
    assert_eq!(roles.of_type(nothing), None);
}

#[test]
fn a_rule_reaches_members_of_anonymous_parts_and_of_types_with_a_typedef_only() {
    let mut maker = Maker::new();
    let part = maker.add("", 4, &[("inner", 0, maker.int)]);
    let whole = maker.add("", 8, &[("a", 0, maker.int), ("", 4, part)]);
    maker.alias("whole_t", whole);
    let outer = maker.add("outer", 8, &[("in", 0, whole)]);
    let rules =
        "[members]\n'whole_t.inner' = 'written'\n'outer.in.a' = 'cold'\n'outer.none' = 'lock'";
    let roles = roles(&maker.finish_dwarf(), rules);
    assert_eq!(roles.of_member(part, 0), Some(Role::Written));
    assert_eq!(roles.of_member(whole, 0), Some(Role::Cold));
    assert_eq!(roles.of_member(whole, 1), None);
    assert_eq!(roles.of_member(outer, 0), None);
}

#[test]
fn what_lies_between_the_kernel_s_markers_is_what_the_group_s_name_says() {
    let mut maker = Maker::new();
    let mark = maker.array(maker.int, 0);
    let members: [(&str, u64, TypeId); 8] = [
        ("__cacheline_group_begin__s_read_tx", 0, mark),
        ("mtu", 0, maker.int),
        ("lock", 4, maker.lock),
        ("__cacheline_group_end__s_read_tx", 8, mark),
        ("__cacheline_group_begin__s_write_tx", 8, mark),
        ("seq", 8, maker.int),
        ("__cacheline_group_end__s_write_tx", 12, mark),
        ("rest", 12, maker.int),
    ];
    let id = maker.add("s", 16, &members);
    let roles = roles(&maker.finish(), "");
    assert_eq!(roles.of_member(id, 1), Some(Role::ReadMostly));
    assert_eq!(roles.of_member(id, 2), Some(Role::Lock));
    assert_eq!(roles.of_member(id, 5), None);
    assert_eq!(roles.of_member(id, 7), None);
}

#[test]
fn a_variable_is_known_by_its_name_then_its_section_then_its_type() {
    let all = [
        ("a::refs", ".data", Role::Count),
        ("b", ".data..read_mostly", Role::ReadMostly),
        ("c", ".data", Role::Atomic),
        ("hot", ".rodata", Role::Written),
    ];
    let mut maker = Maker::new();
    let atomic = maker.number("atomic_t", 4);
    for (address, (name, section, _)) in (0..).zip(&all) {
        maker.variable(name, section, address, atomic, "");
    }
    let model = maker.finish_dwarf();
    let roles = roles(&model, "[statics]\nhot = 'written'");
    for (index, one) in model.statics().iter().enumerate() {
        let (.., expected) = all.iter().find(|(name, ..)| *name == &*one.name).unwrap();
        assert_eq!(roles.of_static(index), Some(*expected), "{}", one.name);
    }
}
