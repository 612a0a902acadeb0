// The tuned tables that bundles carry: those that their kernels were planned with.
//
// A bundle's table is the whole one of its GPU as it was in use, the shipped one included; a table
// without entries and costs says that none was. So it stands in for the shipped table and is not
// merged over it: only then a process plans the kernels that the bundle has.
#ifndef HEDDLE_RUNTIME_TABLES_BUNDLED_TABLES_H_
#define HEDDLE_RUNTIME_TABLES_BUNDLED_TABLES_H_

#include <set>
#include <string>
#include <vector>

#include "cache/cache_layer.h"
#include "heddle/tuned.h"
#include "runtime/logger.h"

namespace heddle {

// What a bundle with kernels for these GPUs (tuned_gpu()) has to carry: of each GPU the table in
// use, unless that is the shipped one. Throws what TunedTable::parse throws for a table whose text
// is too long to be read again.
TunedTables tables_to_bundle(const TunedTables& in_use, const std::set<std::string>& gpus);

// The tables of one bundle. Throws Error(kSpec) for a text that is no table, or not as
// TunedTable::to_json() writes it, and for two tables of one GPU.
TunedTables parse_bundled_tables(const std::vector<std::string>& texts);

// The table of a GPU, or null.
const TunedTable* find_table(const TunedTables& tables, const std::string& gpu);

// The entries and costs of a table that are not those of the shipped table of its GPU.
TunedTable own_part(const TunedTable& table);

// The tables of all bundles, merged in the order of the roots. For one GPU an earlier bundle's
// entries and costs go before a later one's, and what a table has from the shipped one comes last:
// so bundles that were tuned each by itself, for models of different shapes, all find their
// kernels.
TunedTables in_order_of_roots(const std::vector<TunedTables>& bundles);

// The tables of bundles, from their texts, as in_order_of_roots() has them. Where a bundle has a
// text that is not understood in full, none of its tables is used, and `logger` is told.
TunedTables bundled_tables(const std::vector<LayerTables>& bundles, Logger* logger);

// The shipped tables, with the bundled ones in place of those of the same GPUs.
TunedTables in_place_of_shipped(TunedTables bundled);

}  // namespace heddle

#endif  // HEDDLE_RUNTIME_TABLES_BUNDLED_TABLES_H_
