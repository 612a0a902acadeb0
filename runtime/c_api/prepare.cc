// The C API of kernels of which the urgent ones are made first.
#include "heddle/heddle.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

struct heddle_preparation {
  heddle::Preparation preparation;
};

using heddle::c_api::guarded;
using heddle::c_api::need;

heddle_status heddle_preparation_create(heddle_runtime* runtime, const heddle_text* specs,
                                        size_t spec_count, const heddle_m_range* urgent,
                                        size_t urgent_count, heddle_progress_callback progress,
                                        void* user, heddle_preparation** preparation) {
  return guarded([&] {
    need(preparation, "preparation");
    *preparation = nullptr;
    need(runtime, "runtime");
    if (urgent_count > 0) need(urgent, "urgent");
    heddle::c_api::need_count(urgent_count, "urgent_count");
    std::vector<heddle::MRange> ranges;
    for (size_t i = 0; i < urgent_count; ++i) ranges.push_back({urgent[i].first, urgent[i].last});
    *preparation = new heddle_preparation{
        runtime->runtime.prepare(heddle::c_api::parse_specs(specs, spec_count), ranges,
                                 heddle::c_api::progress_of(progress, user))};
  });
}

void heddle_preparation_destroy(heddle_preparation* preparation) { delete preparation; }

heddle_status heddle_preparation_get(const heddle_preparation* preparation,
                                     heddle_preparation_info* info) {
  return guarded([&] {
    need(preparation, "preparation");
    const heddle::PreparationStatus status = preparation->preparation.status();
    heddle_preparation_info values = {};
    values.done = status.done;
    values.total = status.total;
    values.ended = status.ended ? 1 : 0;
    heddle::c_api::write_struct(values, info, "heddle_preparation_info");
  });
}

heddle_status heddle_preparation_wait(const heddle_preparation* preparation) {
  return guarded([&] {
    need(preparation, "preparation");
    preparation->preparation.wait();
  });
}

heddle_status heddle_preparation_cancel(heddle_preparation* preparation) {
  return guarded([&] {
    need(preparation, "preparation");
    preparation->preparation.cancel();
  });
}

heddle_status heddle_request_of_preparation(const heddle_preparation* preparation, size_t spec,
                                            heddle_request** request) {
  return guarded([&] {
    need(request, "request");
    *request = nullptr;
    need(preparation, "preparation");
    const auto& requests = preparation->preparation.requests();
    heddle::c_api::need_index(spec, requests.size(), "spec");
    *request = new heddle_request{requests[spec]};
  });
}
