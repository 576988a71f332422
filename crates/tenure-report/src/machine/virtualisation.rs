//! Detects virtualisation: virtual CPUs have steal time, and may show a false topology.

use super::tree::{self, Tree};

/// Hypervisor, container technology and CPU quota, in words: `kvm, docker, quota of 2 CPUs`; `none`; or empty where
/// unknown.
pub(super) fn read(tree: &Tree, info: &str) -> String {
    let hypervisor = hypervisor(tree, info);
    let found: Vec<String> = [
        match &hypervisor {
            Hypervisor::Named(name) => Some((*name).to_owned()),
            Hypervisor::None | Hypervisor::Unknown => None,
        },
        container(tree).map(str::to_owned),
        quota(tree),
    ]
    .into_iter()
    .flatten()
    .collect();
    match (found.is_empty(), hypervisor) {
        (false, _) => found.join(", "),
        (true, Hypervisor::Unknown) => String::new(),
        (true, _) => "none".to_owned(),
    }
}

enum Hypervisor {
    Named(&'static str),
    None,
    Unknown,
}

fn hypervisor(tree: &Tree, info: &str) -> Hypervisor {
    // On x86, `hypervisor` among the `flags` is CPUID's own bit.
    let flags = tree::field(info, "flags");
    let flagged = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let name = tree
        .text("sys/hypervisor/type")
        .filter(|kind| kind == "xen")
        .map(|_| "xen")
        .or_else(|| tree.text("proc/device-tree/hypervisor/compatible").map(|_| "kvm"))
        .or_else(|| {
            // A cloud's name is on its bare machines too.
            let bare = flagged == Some(false);
            firmware_name(tree).filter(|_| !bare)
        });
    match (name, flagged) {
        (Some(name), _) => Hypervisor::Named(name),
        (None, Some(true)) => Hypervisor::Named("virtual machine"),
        (None, Some(false)) => Hypervisor::None,
        (None, None) => Hypervisor::Unknown,
    }
}

/// Hypervisors' names in the firmware's tables.
fn firmware_name(tree: &Tree) -> Option<&'static str> {
    const NAMES: [(&str, &str); 9] = [
        ("QEMU", "kvm"),
        ("KVM", "kvm"),
        ("Firecracker", "firecracker"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("Xen", "xen"),
        ("Google Compute Engine", "google compute engine"),
        ("Virtual Machine", "hyper-v"),
    ];
    let words = ["sys_vendor", "product_name", "bios_vendor"]
        .into_iter()
        .filter_map(|file| tree.text(&format!("sys/class/dmi/id/{file}")))
        .collect::<Vec<_>>()
        .join(" ");
    if words.contains("Amazon EC2") && !words.contains("metal") {
        return Some("amazon ec2");
    }
    NAMES.into_iter().find(|(word, _)| words.contains(word)).map(|(_, name)| name)
}

fn container(tree: &Tree) -> Option<&'static str> {
    if tree.has(".dockerenv") {
        return Some("docker");
    }
    if tree.has("run/.containerenv") {
        return Some("podman");
    }
    if tree.text("proc/version").is_some_and(|version| version.contains("gVisor")) {
        return Some("gvisor");
    }
    let groups = tree.text("proc/1/cgroup").unwrap_or_default();
    [("kubepods", "kubernetes"), ("docker", "docker"), ("lxc", "lxc"), ("libpod", "podman")]
        .into_iter()
        .find(|(word, _)| groups.contains(word))
        .map(|(_, name)| name)
        .or_else(|| tree.has("run/systemd/container").then_some("container"))
}

/// Affinity does not show this limit: threads over it are stopped for part of each period.
fn quota(tree: &Tree) -> Option<String> {
    let text = tree.text("sys/fs/cgroup/cpu.max")?;
    let (quota, period) = text.split_once(' ')?;
    let (quota, period) = (quota.parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?);
    let cpus = (quota / period * 100.0).round() / 100.0;
    (cpus.is_finite() && cpus > 0.0).then(|| format!("quota of {cpus} CPUs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(files: &[(&str, &str)]) -> String {
        Tree::with(files.iter().copied(), |tree| {
            read(tree, &tree.text("proc/cpuinfo").unwrap_or_default())
        })
    }

    const BARE: (&str, &str) = ("proc/cpuinfo", "flags\t\t: fpu sse2\n");
    const GUEST: (&str, &str) = ("proc/cpuinfo", "flags\t\t: fpu hypervisor sse2\n");

    #[test]
    fn a_guest_is_named_by_its_firmware_and_by_its_flag_alone_without() {
        assert_eq!(words(&[GUEST, ("sys/class/dmi/id/sys_vendor", "QEMU\n")]), "kvm");
        assert_eq!(words(&[GUEST]), "virtual machine");
    }

    #[test]
    fn a_cloud_name_on_a_bare_machine_is_no_hypervisor() {
        assert_eq!(words(&[BARE, ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")]), "none");
    }

    #[test]
    fn a_container_on_bare_metal_and_in_a_guest_is_told() {
        assert_eq!(words(&[BARE, (".dockerenv", "")]), "docker");
        assert_eq!(words(&[GUEST, ("run/.containerenv", "")]), "virtual machine, podman");
    }

    #[test]
    fn a_cpu_quota_is_told_and_max_is_none() {
        assert_eq!(
            words(&[BARE, ("sys/fs/cgroup/cpu.max", "250000 100000\n")]),
            "quota of 2.5 CPUs"
        );
        assert_eq!(words(&[BARE, ("sys/fs/cgroup/cpu.max", "max 100000\n")]), "none");
    }

    #[test]
    fn nothing_known_is_empty_and_not_none() {
        assert_eq!(words(&[]), "");
    }
}
