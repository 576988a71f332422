use super::*;
use tenure_types::model::{
    Builder, Format, Kind, Member, Model, Qualifier, Scalar, Shape, Static, TypeId,
};

fn of_name(name: &str) -> Option<Role> {
    let mut builder = Builder::new();
    let id = builder.add(name, 4, Kind::Scalar(Scalar::Integer));
    Knowledge::builtin().roles(&builder.finish(Format::Dwarf, 1).unwrap(), None).of_type(id)
}

/// Of the type's only member, by the built-in rules and `rules`.
fn of_member(ty: &str, member: &str, member_type: &str, rules: &str) -> Option<Role> {
    let (model, id) = one_member(ty, member, member_type);
    let rules = Rules::parse(rules, "r.toml").unwrap();
    Knowledge::builtin().with(&rules).roles(&model, None).of_member(id, 0)
}

fn one_member(ty: &str, member: &str, member_type: &str) -> (Model, TypeId) {
    let mut builder = Builder::new();
    let inner = builder.add(member_type, 4, Kind::Scalar(Scalar::Integer));
    let members = vec![Member::new(member, 0, inner)];
    let id = builder.add(ty, 4, composite(members));
    (builder.finish(Format::Dwarf, 1).unwrap(), id)
}

fn composite(members: Vec<Member>) -> Kind {
    Kind::Composite { shape: Shape::Struct, members }
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
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let spinlock = builder.add("spinlock", 4, composite(vec![Member::new("raw", 0, int)]));
    let spinlock_t = builder.add("spinlock_t", 0, Kind::Alias(spinlock));
    let volatile = builder.add("", 0, Kind::Qualified(Qualifier::Volatile, spinlock_t));
    let my_lock = builder.add("my_lock", 0, Kind::Alias(volatile));
    let array = builder.add("", 0, Kind::Array { element: my_lock, count: 4 });
    let model = builder.finish(Format::Btf, 1).unwrap();
    let roles = |text| {
        let roles =
            Knowledge::builtin().with(&Rules::parse(text, "r").unwrap()).roles(&model, None);
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
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let atomic = builder.add("", 0, Kind::Qualified(Qualifier::Atomic, int));
    let constant = builder.add("", 0, Kind::Qualified(Qualifier::Const, int));
    let alias = builder.add("atomic_foo", 0, Kind::Alias(atomic));
    let counted = builder.add("refcount_t", 0, Kind::Alias(atomic));
    let members = vec![Member::new("hits", 0, alias), Member::new("refcnt", 4, alias)];
    let ty = builder.add("s", 8, composite(members));
    let roles = Knowledge::builtin().roles(&builder.finish(Format::Dwarf, 1).unwrap(), None);
    assert_eq!(roles.of_type(int), None);
    assert_eq!(roles.of_type(atomic), Some(Role::Atomic));
    assert_eq!(roles.of_type(constant), Some(Role::ReadMostly));
    assert_eq!(roles.of_type(counted), Some(Role::Count));
    assert_eq!(roles.of_member(ty, 0), Some(Role::Atomic));
    assert_eq!(roles.of_member(ty, 1), Some(Role::Count));
}

#[test]
fn pointers_are_known_by_what_they_point_to() {
    let mut builder = Builder::new();
    let function = builder.add("", 0, Kind::Function);
    let ops = builder.add("dst_ops", 8, composite(vec![]));
    let constant = builder.add("", 0, Kind::Qualified(Qualifier::Const, ops));
    let other = builder.add("sk_buff", 8, composite(vec![]));
    let pointers = [Some(function), Some(constant), Some(other), None]
        .map(|to| builder.add("", 8, Kind::Pointer(to)));
    let roles = Knowledge::builtin().roles(&builder.finish(Format::Btf, 1).unwrap(), None);
    let read_mostly = Some(Role::ReadMostly);
    assert_eq!(pointers.map(|id| roles.of_type(id)), [read_mostly, read_mostly, None, None]);
}

#[test]
fn a_rule_reaches_members_of_anonymous_parts_and_of_types_with_a_typedef_only() {
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let part = builder.add("", 4, composite(vec![Member::new("inner", 0, int)]));
    let whole = composite(vec![Member::new("a", 0, int), Member::new("", 4, part)]);
    let whole = builder.add("", 8, whole);
    builder.add("whole_t", 0, Kind::Alias(whole));
    let outer = vec![Member::new("in", 0, whole)];
    let outer = builder.add("outer", 8, composite(outer));
    let model = builder.finish(Format::Dwarf, 1).unwrap();
    let rules =
        "[members]\n'whole_t.inner' = 'written'\n'outer.in.a' = 'cold'\n'outer.none' = 'lock'";
    let roles = Knowledge::default().with(&Rules::parse(rules, "r").unwrap()).roles(&model, None);
    assert_eq!(roles.of_member(part, 0), Some(Role::Written));
    assert_eq!(roles.of_member(whole, 0), Some(Role::Cold));
    assert_eq!(roles.of_member(whole, 1), None);
    assert_eq!(roles.of_member(outer, 0), None);
}

#[test]
fn what_lies_between_the_kernel_s_markers_is_what_the_group_s_name_says() {
    let mut builder = Builder::new();
    let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    let lock = builder.add("spinlock_t", 4, Kind::Scalar(Scalar::Integer));
    let mark = builder.add("", 0, Kind::Array { element: int, count: 0 });
    let members = vec![
        Member::new("__cacheline_group_begin__s_read_tx", 0, mark),
        Member::new("mtu", 0, int),
        Member::new("lock", 4, lock),
        Member::new("__cacheline_group_end__s_read_tx", 8, mark),
        Member::new("__cacheline_group_begin__s_write_tx", 8, mark),
        Member::new("seq", 8, int),
        Member::new("__cacheline_group_end__s_write_tx", 12, mark),
        Member::new("rest", 12, int),
    ];
    let id = builder.add("s", 16, composite(members));
    let roles = Knowledge::builtin().roles(&builder.finish(Format::Btf, 1).unwrap(), None);
    assert_eq!(roles.of_member(id, 1), Some(Role::ReadMostly));
    assert_eq!(roles.of_member(id, 2), Some(Role::Lock));
    assert_eq!(roles.of_member(id, 5), None);
    assert_eq!(roles.of_member(id, 7), None);
}

#[test]
fn a_variable_is_known_by_its_name_then_its_section_then_its_type() {
    let mut builder = Builder::new();
    let atomic = builder.add("atomic_t", 4, Kind::Scalar(Scalar::Integer));
    for (address, (name, section)) in
        [("a::refs", ".data"), ("b", ".data..read_mostly"), ("c", ".data"), ("hot", ".rodata")]
            .into_iter()
            .enumerate()
    {
        let (name, section) = (name.into(), section.into());
        let address = address as u64;
        builder.push_static(Static { name, section, address, ty: atomic, declared: None });
    }
    let model = builder.finish(Format::Dwarf, 1).unwrap();
    let rules = Rules::parse("[statics]\nhot = 'written'", "r").unwrap();
    let roles = Knowledge::builtin().with(&rules).roles(&model, None);
    for (index, one) in model.statics().iter().enumerate() {
        let expected = match &*one.name {
            "a::refs" => Role::Count,
            "b" => Role::ReadMostly,
            "c" => Role::Atomic,
            _ => Role::Written,
        };
        assert_eq!(roles.of_static(index), Some(expected), "{}", one.name);
    }
}
