#include <algorithm>

#include "generator/tuned/embedded.h"
#include "heddle/tuned.h"

namespace heddle {

const TunedTables& TunedTables::shipped() {
  static const TunedTables shipped = [] {
    TunedTables tables;
    for (const auto& [name, text] : embedded_tuned_tables()) tables.add(TunedTable::parse(text));
    return tables;
  }();
  return shipped;
}

void TunedTables::add(const TunedTable& table) {
  const auto place =
      std::lower_bound(tables_.begin(), tables_.end(), table,
                       [](const TunedTable& a, const TunedTable& b) { return a.gpu() < b.gpu(); });
  if (place != tables_.end() && place->gpu() == table.gpu()) {
    place->merge(table);
  } else {
    tables_.insert(place, table);
  }
}

const TunedTable* TunedTables::of(const Target& target) const {
  const std::string gpu = tuned_gpu(target);
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const TunedTable& table) { return table.gpu() == gpu; });
  return found == tables_.end() ? nullptr : &*found;
}

}  // namespace heddle
