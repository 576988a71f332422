# LevelDB 1.23: a table's count of references on a line of its own. For db/memtable.h.
s/^  int refs_;/  alignas(64) int refs_;/
s/^  Arena arena_;/  alignas(64) Arena arena_;/
