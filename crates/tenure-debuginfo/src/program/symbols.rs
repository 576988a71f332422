//! Functions and variables by the symbol tables: what is left without debugging information.

use object::{File, Object as _, ObjectSymbol as _, SymbolKind};

/// Longer names are cut.
const MAX_NAME_BYTES: usize = 1 << 14;

/// Functions and variables that have a size.
#[derive(Debug, Default)]
pub struct Symbols {
    functions: SymbolTable,
    variables: SymbolTable,
    /// All names, one after the other.
    names: Vec<u8>,
}

/// Symbols by address.
type SymbolTable = Vec<Symbol>;

/// A symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// What it names lies there.
    pub address: u64,
    /// Bytes of what it names.
    pub size: u64,
    name: (u32, u32),
}

impl Symbols {
    /// Takes the symbols of a file. Names may share bytes in it: they come to at most four times its length.
    pub fn extend(&mut self, object: &File<'_>, length: usize) {
        let most = self.names.len().saturating_add(length.saturating_mul(4));
        for symbol in object.symbols().chain(object.dynamic_symbols()) {
            let table = match symbol.kind() {
                SymbolKind::Text => &mut self.functions,
                SymbolKind::Data | SymbolKind::Unknown => &mut self.variables,
                _ => continue,
            };
            if !symbol.is_definition() || symbol.size() == 0 {
                continue;
            }
            let Ok(name) = symbol.name_bytes() else { continue };
            let name = &name[..name.len().min(MAX_NAME_BYTES)];
            let Ok(start) = u32::try_from(self.names.len()) else { break };
            if self.names.len() + name.len() > most {
                break;
            }
            self.names.extend_from_slice(name);
            let name = (start, name.len() as u32);
            table.push(Symbol { address: symbol.address(), size: symbol.size(), name });
        }
        for table in [&mut self.functions, &mut self.variables] {
            table.sort_unstable();
            table.dedup_by_key(|symbol| symbol.address);
        }
    }

    /// That of the function at an address.
    pub fn function(&self, address: u64) -> Option<Symbol> {
        find(&self.functions, address)
    }

    /// That of the variable at an address.
    pub fn variable(&self, address: u64) -> Option<Symbol> {
        find(&self.variables, address)
    }

    /// The address of a function whose symbol contains these bytes.
    pub fn function_named(&self, part: &[u8]) -> Option<u64> {
        let contains =
            |symbol: &&Symbol| self.bytes(**symbol).windows(part.len().max(1)).any(|it| it == part);
        self.functions.iter().find(contains).map(|symbol| symbol.address)
    }

    /// Its name, as compilers spell it.
    pub fn name(&self, symbol: Symbol) -> String {
        String::from_utf8_lossy(self.bytes(symbol)).into_owned()
    }

    fn bytes(&self, symbol: Symbol) -> &[u8] {
        let (start, length) = symbol.name;
        let name = self.names.get(start as usize..).unwrap_or_default();
        &name[..name.len().min(length as usize)]
    }
}

fn find(table: &SymbolTable, address: u64) -> Option<Symbol> {
    let after = table.partition_point(|symbol| symbol.address <= address);
    let symbol = *table[..after].last()?;
    (address - symbol.address < symbol.size).then_some(symbol)
}
