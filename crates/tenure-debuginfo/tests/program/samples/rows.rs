//! Elements of a `Vec` that are written: by a variable, and one after the other.

use std::hint::black_box;

#[repr(C)]
pub struct WorkerState {
    done: u64,
    busy: u32,
    id: u32,
}

pub struct Pool {
    workers: Vec<WorkerState>,
}

impl Pool {
    #[inline(never)]
    fn finish(&mut self, id: usize) {
        self.workers[id].done += 1;
    }

    #[inline(never)]
    fn reset(&mut self) {
        for worker in &mut self.workers {
            worker.busy = 0;
        }
    }
}

fn main() {
    let worker = |id| WorkerState { done: 0, busy: 1, id };
    let mut pool = Pool { workers: (0..black_box(8)).map(worker).collect() };
    black_box(&mut pool).finish(black_box(3));
    black_box(&mut pool).reset();
    black_box(&pool);
}
