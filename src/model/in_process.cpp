// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/in_process.h"

#include "base/split.h"
#include "base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace ncclprobe::model {
namespace {

using Kind = InProcessSetting::Kind;

constexpr std::array k_of_nvidia{
    InProcessSetting{"algorithm", "NCCL_ALGO", Kind::words,
                     "Tree,Ring,CollNetDirect,CollNetChain,NVLS,NVLSTree,PAT"},
    InProcessSetting{"protocol", "NCCL_PROTO", Kind::words, "LL,LL128,Simple"},
    InProcessSetting{"channels", "", Kind::whole, "", 1, 64},
};
constexpr std::array k_of_host{
    InProcessSetting{"algorithm", "NCCLPROBE_GLOO_ALGORITHM", Kind::words, "auto,ring,bcube"},
    InProcessSetting{"chunk_bytes", "NCCLPROBE_GLOO_CHUNK_BYTES", Kind::bytes, "", 1024,
                     1024 * 1024 * 1024},
};
constexpr std::array k_of_synthetic{
    InProcessSetting{"alpha_ns", "NCCLPROBE_SYNTHETIC_ALPHA_NS", Kind::whole, "", 0, 1'000'000'000},
    InProcessSetting{"gb_per_s", "NCCLPROBE_SYNTHETIC_GB_PER_S", Kind::decimal},
    InProcessSetting{"noise_ppm", "NCCLPROBE_SYNTHETIC_NOISE_PPM", Kind::whole, "", 0, 500'000},
    InProcessSetting{"fail", "NCCLPROBE_SYNTHETIC_FAIL", Kind::words,
                     "none,unsupported,error,crash,hang"},
};

const InProcessSetting* find(std::string_view backend, std::string_view name) {
  auto known = in_process_settings(backend);
  auto found = std::ranges::find(known, name, &InProcessSetting::name);
  return found == known.end() ? nullptr : &*found;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

bool is_between(const InProcessSetting& setting, std::uint64_t value) {
  return value >= setting.least && value <= setting.most;
}

// Empty if `value` is one of the setting's.
std::string what_is_expected(const InProcessSetting& setting, const std::string& value) {
  switch (setting.kind) {
  case Kind::words: {
    auto words = base::split(setting.words, ',');
    if (std::ranges::find(words, value) == words.end())
      return fmt::format("one of {}", fmt::join(words, ", "));
    break;
  }
  case Kind::bytes:
    if (auto bytes = base::parse_bytes(value); !bytes || !is_between(setting, *bytes))
      return fmt::format("a size from {} to {}", base::format_bytes(setting.least),
                         base::format_bytes(setting.most));
    break;
  case Kind::whole:
    if (auto whole = number<std::uint64_t>(value); !whole || !is_between(setting, *whole))
      return fmt::format("a whole number from {} to {}", setting.least, setting.most);
    break;
  case Kind::decimal:
    if (auto decimal = number<double>(value); !decimal || !(*decimal > 0))
      return "a number above 0";
    break;
  }
  return "";
}

} // namespace

std::span<const InProcessSetting> in_process_settings(std::string_view backend) {
  if (backend == "nvidia")
    return k_of_nvidia;
  if (backend == "host")
    return k_of_host;
  if (backend == "synthetic")
    return k_of_synthetic;
  return {};
}

Result<void> check_in_process(std::string_view backend, const Setting& setting) {
  const InProcessSetting* known = find(backend, setting.name);
  if (known == nullptr) {
    std::vector<std::string_view> names;
    for (const InProcessSetting& one : in_process_settings(backend))
      names.push_back(one.name);
    return fail(Errc::invalid_argument,
                "the {} backend cannot change '{}' within a process: it can change {}", backend,
                setting.name,
                names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", ")));
  }
  if (std::string expected = what_is_expected(*known, setting.value); !expected.empty())
    return fail(Errc::invalid_argument, "{}={}: expected {}", setting.name, setting.value,
                expected);
  return {};
}

std::map<std::string, std::string> environment_with(std::map<std::string, std::string> environment,
                                                    std::string_view backend,
                                                    const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    const InProcessSetting* known = find(backend, setting.name);
    if (known == nullptr || known->variable.empty())
      raise(Errc::unsupported, "the {} backend cannot change {} within a process", backend,
            setting.name);
    environment[std::string(known->variable)] = setting.value;
  }
  return environment;
}

} // namespace ncclprobe::model
