// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/ddp_buckets.h"

#include <algorithm>
#include <map>

namespace ncclprobe::workload {

DdpOptions ddp_options(std::optional<std::uint64_t> bucket_cap_bytes) {
  DdpOptions options;
  if (bucket_cap_bytes) {
    options.bucket_bytes = *bucket_cap_bytes;
    options.first_bucket_bytes = *bucket_cap_bytes;
  }
  return options;
}

std::vector<std::vector<std::size_t>> fill_buckets(const std::vector<BucketItem>& items,
                                                   const std::vector<std::uint64_t>& limits) {
  struct Open {
    std::vector<std::size_t> indices;
    std::uint64_t bytes = 0;
    std::size_t limit = 0;
  };
  std::map<int, Open> open;
  std::vector<std::vector<std::size_t>> closed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Open& bucket = open[items[i].key];
    bucket.indices.push_back(i);
    bucket.bytes += items[i].bytes;
    if (bucket.bytes < limits[bucket.limit])
      continue;
    closed.push_back(std::move(bucket.indices));
    bucket = {{}, 0, std::min(bucket.limit + 1, limits.size() - 1)};
  }
  for (auto& [key, bucket] : open)
    if (!bucket.indices.empty())
      closed.push_back(std::move(bucket.indices));
  return closed;
}

std::vector<std::vector<std::size_t>>
fill_buckets_sorted(const std::vector<BucketItem>& items,
                    const std::vector<std::uint64_t>& limits) {
  std::vector<std::vector<std::size_t>> buckets = fill_buckets(items, limits);
  // Indices ascend within a bucket, so the first is the least.
  std::ranges::sort(buckets, [](const auto& a, const auto& b) { return a.front() < b.front(); });
  return buckets;
}

std::vector<DdpBucket> ddp_buckets(const ModelSpec& spec, const DdpOptions& options) {
  const bool rebuilt = options.order == BucketOrder::rebuilt;
  const std::vector<ParameterAt> all = rebuilt ? arrival_order(spec) : registration_order(spec);
  std::vector<BucketItem> items;
  for (ParameterAt at : all)
    items.push_back({parameter_at(spec, at).elements * model::size_bytes(options.type)});

  std::vector<std::uint64_t> limits{options.first_bucket_bytes};
  if (options.bucket_bytes != options.first_bucket_bytes)
    limits.push_back(options.bucket_bytes);
  if (options.order == BucketOrder::first_step)
    limits = {UINT64_MAX};
  auto filled = rebuilt ? fill_buckets(items, limits) : fill_buckets_sorted(items, limits);
  if (!rebuilt)
    std::ranges::reverse(filled);

  std::vector<DdpBucket> buckets;
  for (const std::vector<std::size_t>& indices : filled) {
    DdpBucket bucket;
    bucket.completed_by_layer = all[indices.front()].layer;
    for (std::size_t i : indices) {
      bucket.parameters.push_back(all[i]);
      bucket.elements += parameter_at(spec, all[i]).elements;
      bucket.completed_by_layer = std::min(bucket.completed_by_layer, all[i].layer);
    }
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

} // namespace ncclprobe::workload
