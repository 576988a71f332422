//! Clones that are borrowed.

use super::program::Program;
use tenure_edit::SourceChange;

/// A program with a function that clones the state, and goes on.
fn program(clone: &str, rest: &str) -> String {
    format!(
        "#![allow(unused)]\nuse std::cell::Cell;\nuse std::sync::{{Arc, Mutex}};\n\
         #[derive(Clone, Debug)]\nstruct State {{ n: u64, lock: Arc<Mutex<u8>> }}\n\
         struct Server {{ state: Arc<State>, all: Arc<Vec<u64>>, cell: Cell<u8>, guarded: Mutex<Arc<State>> }}\n\
         fn by_ref(state: &Arc<State>) -> u64 {{ state.n }}\nfn inner(state: &State) -> u64 {{ state.n }}\n\
         fn by_value(state: Arc<State>) -> u64 {{ state.n }}\n\
         impl Server {{\n    fn serve(&mut self, shared: &Arc<State>) -> u64 {{\n        {clone}\n        {rest}\n    }}\n}}\n\
         fn main() {{\n    let state = Arc::new(State {{ n: 4, lock: Default::default() }});\n    \
         let mut server = Server {{ state: state.clone(), all: Arc::new(vec![1]), cell: Cell::new(1), guarded: Mutex::new(state.clone()) }};\n    \
         println!(\"{{}}\", server.serve(&state));\n}}\n"
    )
}

#[test]
fn a_clone_that_stays_in_its_function_is_borrowed() {
    let all = "state.n + by_ref(&state) + inner(&state) + self.state.n";
    let cases = [
        ("let state = self.state.clone(); // é", all, "let state = &self.state; // é"),
        ("let state = Arc::clone(&self.state);", all, "let state = &self.state;"),
        ("let state = std::sync::Arc::clone(&self.state);", all, "let state = &self.state;"),
        (
            "let state: Arc<State> = self.state.clone();",
            all,
            "let state: &Arc<State> = &self.state;",
        ),
        ("let state = shared.clone();", all, "let state = &shared;"),
        (
            "let state = self.state.clone();",
            "println!(\"{:?} {:?}\", *state, state); by_value(state.clone())",
            "let state = &self.state;",
        ),
        (
            "let all = self.all.clone();",
            "let at = all.len() - 1; all[at] + all[0]",
            "let all = &self.all;",
        ),
        (
            "let state = self.state.clone();",
            "let n = (*state).clone(); n.n + inner(&*state)",
            "let n = (**state).clone(); n.n + inner(&**state)",
        ),
    ];
    for (clone, rest, after) in cases {
        let text = program(clone, rest);
        let edited = Program::own(&text, clone, SourceChange::Borrow).runs();
        assert!(edited.contains(after), "{edited}");
    }
}

#[test]
fn a_clone_that_may_outlive_its_place_is_refused() {
    let state = "let state = self.state.clone();";
    let cases = [
        (state, "by_value(state)", "may outlive its function"),
        (state, "std::thread::spawn(move || state.n).join().unwrap()", "may outlive its function"),
        (state, "let n = || state.n; n()", "may outlive its function"),
        (state, "let kept = vec![state]; 1", "may outlive its function"),
        (
            state,
            "self.state = Arc::new(State { n: 1, lock: Default::default() }); state.n",
            "does not compile then: cannot assign",
        ),
        (state, "Arc::strong_count(&state) as u64", "may outlive its function"),
        (
            state,
            "let Some(n) = [1].first().map(|_| by_value(state)) else { return 1 }; n",
            "may outlive its function",
        ),
        ("let mut state = self.state.clone();", "state.n", "may be changed"),
        (
            "let cell = self.cell.clone();",
            "self.cell.set(9); cell.get().into()",
            "does not show that `self.cell` is an Arc",
        ),
        ("let state = self.guarded.lock().unwrap().clone();", "state.n", "would be held longer"),
        ("let state = State::clone(&self.state);", "state.n", "there is not one variable here"),
        ("let State { n, .. } = (*self.state).clone();", "n", "the clone is taken apart"),
    ];
    for (clone, rest, why) in cases {
        let text = program(clone, rest);
        let refused = Program::own(&text, clone, SourceChange::Borrow).refused();
        assert!(refused.contains(why), "{clone} {rest}: {refused}");
    }
}
