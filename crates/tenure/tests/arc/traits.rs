//! Traits of std and of others: wakers, files, descriptors, errors, serde.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::task::{RawWaker, Waker};
use tenure::arc::Wake;
use tenure::memory::{Atomic, Memory, Native, Ordering};
use tenure::sync::Arc;

#[derive(Default)]
struct Task {
    woken: <Native as Memory>::AtomicU32,
    by_ref: <Native as Memory>::AtomicU32,
}

impl Wake for Task {
    fn wake(this: Arc<Self>) {
        this.woken.fetch_add(1, Ordering::Relaxed);
    }
    fn wake_by_ref(this: &Arc<Self>) {
        this.by_ref.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_waker_is_a_reference_to_its_task() {
    let task = Arc::new(Task::default());
    let waker = Waker::from(task.clone());
    let other = waker.clone();
    assert!(waker.will_wake(&other));
    assert_eq!(Arc::strong_count(&task), 3);
    waker.wake_by_ref();
    assert_eq!(Arc::strong_count(&task), 3);
    waker.wake();
    assert_eq!(Arc::strong_count(&task), 2);
    drop(other);
    assert_eq!(Arc::strong_count(&task), 1);
    assert_eq!(task.woken.load(Ordering::Relaxed), 1);
    assert_eq!(task.by_ref.load(Ordering::Relaxed), 1);

    // SAFETY: a raw waker of ours keeps the contract.
    let waker = unsafe { Waker::from_raw(RawWaker::from(task.clone())) };
    std::thread::spawn(move || waker.wake()).join().unwrap();
    assert_eq!((task.woken.load(Ordering::Relaxed), Arc::strong_count(&task)), (2, 1));
}

#[test]
fn waking_by_reference_clones_unless_overridden() {
    struct Counting(<Native as Memory>::AtomicU32);
    impl Wake for Counting {
        fn wake(this: Arc<Self>) {
            this.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let task = Arc::new(Counting(Atomic::new(0)));
    let waker = Waker::from(task.clone());
    waker.wake_by_ref();
    waker.wake_by_ref();
    assert_eq!((task.0.load(Ordering::Relaxed), Arc::strong_count(&task)), (2, 2));
}

#[test]
fn a_shared_file_reads_writes_and_seeks() {
    let path = std::env::temp_dir().join(format!("tenure-arc-traits-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap_or_default();
    let mut file = Arc::new(file);
    let mut other = file.clone();
    file.write_all(b"shared file").unwrap();
    file.flush().unwrap();
    assert_eq!(other.stream_position().unwrap(), 11);
    other.seek(SeekFrom::Start(7)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "file");
    #[cfg(unix)]
    {
        use std::os::fd::{AsFd, AsRawFd};
        assert_eq!(file.as_raw_fd(), other.as_fd().as_raw_fd());
    }
}

#[test]
fn an_error_keeps_its_message_and_source() {
    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("outer")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let error = Arc::new(Outer("x".parse::<u8>().unwrap_err()));
    let boxed: Box<dyn std::error::Error> = Box::new(error);
    assert_eq!(boxed.to_string(), "outer");
    assert!(boxed.source().unwrap().to_string().contains("digit"));
}

#[cfg(feature = "serde")]
#[test]
fn serde_writes_the_value_and_reads_new_ones() {
    use tenure::sync::Weak;
    let text: Arc<str> = Arc::from("text");
    let pair = (text.clone(), Arc::new(vec![1, 2]), Arc::<[u8]>::from([3]));
    let json = serde_json::to_string(&pair).unwrap();
    assert_eq!(json, r#"["text",[1,2],[3]]"#);
    let back: (Arc<str>, Arc<Vec<i32>>, Arc<[u8]>) = serde_json::from_str(&json).unwrap();
    assert_eq!(back, pair);
    assert!(!Arc::ptr_eq(&back.0, &text));

    let number = Arc::new(5);
    let weak = Arc::downgrade(&number);
    assert_eq!(serde_json::to_string(&weak).unwrap(), "5");
    drop(number);
    assert_eq!(serde_json::to_string(&weak).unwrap(), "null");
    assert!(serde_json::from_str::<Weak<u32>>("5").unwrap().is_dead());
    assert!(serde_json::from_str::<Weak<u32>>("null").unwrap().is_dead());
}
