// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/activity_library.h"

#include <array>
#include <cstdlib>

namespace ncclprobe::nvidia {
namespace {

// CUDA's major version from CUPTI's own number: 130001 is CUDA 13. Earlier versions counted 1, 2,
// ... 28, and 19 was the first of CUDA 12.
long cuda_major_of(long number) {
  if (number >= 10000)
    return number / 10000;
  return number >= 19 ? 12 : 11;
}

long number_of(const CuptiLibrary& library) {
  constexpr long k_built_for = CUPTI_API_VERSION;
  const long number = std::atol(library.version().c_str());
  if (cuda_major_of(number) != cuda_major_of(k_built_for))
    throw Exception(Error{
        Errc::unsupported,
        fmt::format("CUPTI {} ({}) belongs to CUDA {}, but this build reads the records of CUDA {}",
                    library.version(), library.path(), cuda_major_of(number),
                    cuda_major_of(k_built_for)),
        fmt::format("name CUDA {}'s with --library cupti=/path/libcupti.so",
                    cuda_major_of(k_built_for))});
  return number;
}

} // namespace

ActivityLibrary::ActivityLibrary(const backend::Options& options)
    : library_(options), number_(number_of(library_)) {}

CUptiResult ActivityLibrary::subscribe(CUpti_SubscriberHandle& subscriber,
                                       CUpti_CallbackFunc callback, std::string& other) const {
  other.clear();
#if CUPTI_API_VERSION >= 130000
  decltype(&cuptiSubscribe_v2) ask = require("cuptiSubscribe_v2");
  std::array<char, 2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> name{};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "ncclprobe";
  parameters.oldSubscriberName = name.data();
  parameters.oldSubscriberSize = name.size();
  CUptiResult result = ask(&subscriber, callback, nullptr, &parameters);
  name.back() = '\0';
  other = name.data();
  return result;
#else
  decltype(&cuptiSubscribe) ask = require("cuptiSubscribe");
  return ask(&subscriber, callback, nullptr);
#endif
}

std::string ActivityLibrary::difference() const {
  if (library_.version() == std::to_string(CUPTI_API_VERSION))
    return "";
  return fmt::format("CUPTI {} is loaded, this build was made with {}", library_.version(),
                     CUPTI_API_VERSION);
}

} // namespace ncclprobe::nvidia
