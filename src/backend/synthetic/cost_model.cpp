// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/synthetic/cost_model.h"

#include "base/hash.h"
#include "model/parse_enum.h"

#include <algorithm>
#include <charconv>

namespace ncclprobe::backend {

namespace {

constexpr std::int64_t k_million = 1'000'000;

// Uniform in [-width, width].
std::int64_t uniform(std::uint64_t bits, std::int64_t width) {
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(2 * width + 1)) - width;
}

std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t most) {
  std::int64_t value = -1;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 0 || value > most)
    raise(Errc::invalid_argument, "{}={}: expected a whole number from 0 to {}", name, text, most);
  return value;
}

// "12.5" GB/s are 12500 bytes per microsecond. Digits are read one by one to avoid rounding of
// doubles.
std::int64_t parse_rate(const std::string& name, const std::string& text) {
  std::size_t point = text.find('.');
  std::string fraction = point == std::string::npos ? "" : text.substr(point + 1);
  std::int64_t whole = point == 0 ? -1 : whole_number(name, text.substr(0, point), k_million);
  std::int64_t thousandths =
      fraction.empty() ? 0 : whole_number(name, (fraction + "00").substr(0, 3), 999);
  std::int64_t rate = whole * 1000 + thousandths;
  if (rate <= 0 || fraction.size() > 3 || (point != std::string::npos && fraction.empty()))
    raise(Errc::invalid_argument, "{}={}: expected a positive number with at most 3 decimals", name,
          text);
  return rate;
}

} // namespace

SyntheticSettings SyntheticSettings::parse(const std::map<std::string, std::string>& environment) {
  SyntheticSettings settings;
  for (const auto& [name, text] : environment) {
    if (name == "NCCLPROBE_SYNTHETIC_ALPHA_NS")
      settings.alpha_ns = whole_number(name, text, 1'000'000'000);
    else if (name == "NCCLPROBE_SYNTHETIC_GB_PER_S")
      settings.bytes_per_us = parse_rate(name, text);
    else if (name == "NCCLPROBE_SYNTHETIC_NOISE_PPM")
      settings.noise_ppm = whole_number(name, text, k_million / 2);
    else if (name == "NCCLPROBE_SYNTHETIC_COPY_PPM")
      settings.copy_ppm = whole_number(name, text, 100 * k_million);
    else if (name == "NCCLPROBE_SYNTHETIC_FAIL")
      settings.failure = value_or_throw(model::parse_enum<Failure>(text, name));
  }
  return settings;
}

std::int64_t synthetic_cost_ns(const SyntheticSettings& settings, model::Collective collective,
                               std::uint64_t count, model::DataType type, int ranks) {
  using model::Collective;
  auto n = static_cast<std::int64_t>(ranks);
  std::int64_t steps = n - 1;
  // Numerator and denominator of the bytes on one link, in 128 bits because 1000 n m overflows 64.
  auto message = static_cast<__int128>(count) * static_cast<__int128>(model::size_bytes(type));
  __int128 bytes = message;
  std::int64_t divisor = 1;
  switch (collective) {
  case Collective::all_reduce:
    steps = 2 * (n - 1);
    bytes = message * steps;
    divisor = n;
    break;
  case Collective::all_gather:
  case Collective::reduce_scatter:
  case Collective::all_to_all:
  case Collective::gather:
  case Collective::scatter:
  case Collective::all_to_all_v:
  case Collective::hypercube:
    bytes = message * steps;
    break;
  case Collective::broadcast:
  case Collective::reduce:
    bytes = n > 1 ? message : 0;
    break;
  case Collective::send_recv:
    steps = 1;
    break;
  }
  auto transfer_ns = static_cast<std::int64_t>(
      bytes * 1000 / (static_cast<__int128>(divisor) * settings.bytes_per_us));
  return k_synthetic_launch_ns + steps * settings.alpha_ns + transfer_ns;
}

std::int64_t synthetic_copy_ns(const SyntheticSettings& settings, std::uint64_t bytes,
                               SyntheticRoad road) {
  auto transfer_ns = [&](__int128 times, std::int64_t divisor) {
    return static_cast<std::int64_t>(times * 1000 * static_cast<__int128>(bytes) /
                                     (static_cast<__int128>(divisor) * settings.bytes_per_us));
  };
  switch (road) {
  case SyntheticRoad::local:
    return k_synthetic_launch_ns + transfer_ns(1, 10);
  case SyntheticRoad::host:
    return k_synthetic_launch_ns + settings.alpha_ns + transfer_ns(8, 1);
  case SyntheticRoad::link:
    break;
  }
  return k_synthetic_launch_ns + settings.alpha_ns + transfer_ns(1, 1);
}

std::int64_t synthetic_slowed_ns(const SyntheticSettings& settings, std::int64_t start_ns,
                                 std::int64_t cost_ns, const BusySpans& others) {
  const std::int64_t slowed = k_million + settings.copy_ppm;
  std::int64_t now_ns = start_ns, left_ns = cost_ns;
  for (const auto& [begin_ns, end_ns] : others) {
    std::int64_t alone_ns = std::clamp<std::int64_t>(begin_ns - now_ns, 0, left_ns);
    now_ns += alone_ns;
    left_ns -= alone_ns;
    if (left_ns == 0 || end_ns <= now_ns)
      continue;
    std::int64_t done_ns = std::min(left_ns, (end_ns - now_ns) * k_million / slowed);
    now_ns = done_ns == left_ns ? now_ns + done_ns * slowed / k_million : end_ns;
    left_ns -= done_ns;
  }
  return now_ns + left_ns - start_ns;
}

std::int64_t synthetic_chase_ns(const SyntheticSettings& settings, std::uint64_t hops,
                                SyntheticRoad road) {
  std::int64_t link_ns = settings.alpha_ns / 5;
  std::int64_t hop_ns = road == SyntheticRoad::local  ? link_ns / 3
                        : road == SyntheticRoad::host ? 2 * link_ns
                                                      : link_ns;
  return k_synthetic_launch_ns + static_cast<std::int64_t>(hops) * hop_ns;
}

std::int64_t synthetic_gemm_ns(const GemmCall& call) {
  std::int64_t flops_per_ns = call.type != model::DataType::f32    ? 800'000
                              : call.math == model::GemmMath::tf32 ? 400'000
                                                                   : 50'000;
  auto flops = static_cast<__int128>(2 * call.m) * call.n * call.k * call.batch;
  return k_synthetic_launch_ns + static_cast<std::int64_t>(flops / flops_per_ns);
}

std::int64_t synthetic_memory_ns(std::uint64_t bytes) {
  return k_synthetic_launch_ns + static_cast<std::int64_t>(bytes / 4000);
}

std::int64_t with_noise(std::int64_t cost_ns, const SyntheticSettings& settings,
                        const Options& options, std::uint64_t call) {
  std::uint64_t process = base::mixed(options.seed ^ base::mixed(options.trial) ^
                                      (static_cast<std::uint64_t>(options.replicate) << 40));
  std::int64_t ppm = uniform(process, settings.noise_ppm / 4) +
                     uniform(base::mixed(process + call), settings.noise_ppm);
  return cost_ns + static_cast<std::int64_t>(static_cast<__int128>(cost_ns) * ppm / k_million);
}

} // namespace ncclprobe::backend
