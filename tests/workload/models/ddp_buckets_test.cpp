// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/models/ddp_buckets.h"

namespace ncclprobe::workload {
namespace {

using Filled = std::vector<std::vector<std::size_t>>;

ModelSpec bucketed_model(std::string_view name) {
  return base::value_or_throw(make_model(name));
}

std::vector<std::uint64_t> elements(const std::vector<DdpBucket>& buckets) {
  std::vector<std::uint64_t> result;
  for (const DdpBucket& bucket : buckets)
    result.push_back(bucket.elements);
  return result;
}

TEST_CASE("a bucket is closed by what reaches the limit, and the limits advance") {
  CHECK(fill_buckets({{4}, {4}, {4}, {4}, {4}, {4}}, {8, 12}) == Filled{{0, 1}, {2, 3, 4}, {5}});
  CHECK(fill_buckets({{7}, {100}, {1}, {1}}, {8}) == Filled{{0, 1}, {2, 3}});
  CHECK(fill_buckets({{8}, {8}, {8}}, {8, 9}) == Filled{{0}, {1, 2}});
  CHECK(fill_buckets({}, {8}) == Filled{});
}

TEST_CASE("each data type fills buckets of its own, with limits of its own") {
  const std::vector<BucketItem> mixed{{4, 1}, {4, 0}, {4, 0}, {4, 1}, {4, 0}, {4, 1}};

  CHECK(fill_buckets(mixed, {8, 100}) == Filled{{1, 2}, {0, 3}, {4}, {5}});
  CHECK(fill_buckets_sorted(mixed, {8, 100}) == Filled{{0, 3}, {1, 2}, {4}, {5}});
  // A bucket that was left open can come before one that was filled.
  CHECK(fill_buckets_sorted({{1, 1}, {9, 0}}, {8}) == Filled{{0}, {1}});
}

// Four Linear(256, 256): 65,536 weights and 256 biases each.
TEST_CASE("after the first step buckets follow the order of the gradients") {
  ModelSpec stack = bucketed_model("linear:256x4");
  const std::vector<DdpBucket> buckets =
      ddp_buckets(stack, {.first_bucket_bytes = 4 * 256, .bucket_bytes = 4 * 66'000});

  CHECK(elements(buckets) ==
        std::vector<std::uint64_t>{256, 65'536 + 256 + 65'536, 256 + 65'536 + 256, 65'536});
  CHECK(buckets[0].parameters == std::vector<ParameterAt>{{3, 1}});
  CHECK(buckets[1].parameters == std::vector<ParameterAt>{{3, 0}, {2, 1}, {2, 0}});
  CHECK(buckets[2].parameters == std::vector<ParameterAt>{{1, 1}, {1, 0}, {0, 1}});
  CHECK(buckets[3].parameters == std::vector<ParameterAt>{{0, 0}});
  CHECK(buckets[0].completed_by_layer == 3);
  CHECK(buckets[1].completed_by_layer == 2);
  CHECK(buckets[2].completed_by_layer == 0);
  CHECK(buckets[3].completed_by_layer == 0);
}

TEST_CASE(
    "with unused parameters to look for, buckets follow the registration, the last one first") {
  ModelSpec stack = bucketed_model("linear:256x4");
  const std::vector<DdpBucket> buckets = ddp_buckets(stack, {.first_bucket_bytes = 4 * 256,
                                                             .bucket_bytes = 4 * 66'000,
                                                             .order = BucketOrder::registered});

  CHECK(elements(buckets) ==
        std::vector<std::uint64_t>{256, 65'536 + 256 + 65'536, 256 + 65'536 + 256, 65'536});
  CHECK(buckets[2].parameters == std::vector<ParameterAt>{{0, 1}, {1, 0}, {1, 1}});
  CHECK(buckets[2].completed_by_layer == 0);
}

TEST_CASE("the first step reduces everything at once") {
  const std::vector<DdpBucket> buckets =
      ddp_buckets(bucketed_model("gpt2-124m"), {.order = BucketOrder::first_step});

  CHECK(elements(buckets) == std::vector<std::uint64_t>{124'439'808});
  CHECK(buckets[0].completed_by_layer == 0);
  CHECK(buckets[0].parameters.front() == ParameterAt{0, 0});
}

TEST_CASE("narrower gradients fill larger buckets") {
  ModelSpec stack = bucketed_model("linear:256x4");
  DdpOptions options{.first_bucket_bytes = 2 * 66'000, .bucket_bytes = 2 * 66'000};

  options.type = model::DataType::bf16;
  CHECK(ddp_buckets(stack, options).size() == 3);
  options.type = model::DataType::f32;
  CHECK(ddp_buckets(stack, options).size() == 4);
}

TEST_CASE("a bucket capacity that is asked for holds for the first bucket too") {
  CHECK(ddp_options(std::nullopt).first_bucket_bytes == 1 << 20);
  CHECK(ddp_options(std::nullopt).bucket_bytes == 25 << 20);
  CHECK(ddp_options(50 << 20).first_bucket_bytes == 50 << 20);
  CHECK(ddp_options(50 << 20).bucket_bytes == 50 << 20);
}

TEST_CASE("ResNet-50 in float makes the five buckets that PyTorch makes") {
  // The head's weight and bias are 8.2 MB and so the first bucket; then 25 MiB of blocks each.
  const std::vector<DdpBucket> buckets = ddp_buckets(bucketed_model("resnet50"), {});

  CHECK(buckets[0].elements == 2'049'000);
  CHECK(buckets.size() == 5);
  std::uint64_t sum = 0;
  for (const DdpBucket& bucket : buckets)
    sum += bucket.elements;
  CHECK(sum == 25'557'032);
}

TEST_CASE("in every model each gradient is in one bucket, whatever the order") {
  for (const KnownModel& known : known_models())
    for (BucketOrder order :
         {BucketOrder::rebuilt, BucketOrder::first_step, BucketOrder::registered}) {
      CAPTURE(known.name, base::to_string(order));
      ModelSpec spec = bucketed_model(known.name);
      std::uint64_t sum = 0;
      std::size_t count = 0;
      for (const DdpBucket& bucket : ddp_buckets(spec, {.order = order})) {
        sum += bucket.elements;
        count += bucket.parameters.size();
      }
      CHECK(sum == known.parameters);
      CHECK(count == registration_order(spec).size());
    }
}

} // namespace
} // namespace ncclprobe::workload
