// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/policy_file.h"

#include "base/atomic_file.h"
#include "base/document_limits.h"

#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <map>

namespace ncclprobe::cli {
namespace {

using analysis::Policy;
using base::Errc;
using base::fail;
using base::Result;

class PolicyReader {
public:
  explicit PolicyReader(std::string file) : file_(std::move(file)) {}

  Result<Policy> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      auto handler = handlers().find(std::string(key.str()));
      if (handler == handlers().end()) {
        std::vector<std::string> known;
        for (const auto& [name, unused] : handlers())
          known.push_back(name);
        return wrong(node, fmt::format("'{}' is not a key of a policy; there are {}", key.str(),
                                       fmt::join(known, ", ")));
      }
      NCCLPROBE_TRY(handler->second(*this, handler->first, node));
    }
    if (asks_for_nothing())
      return fail(
          base::Error{Errc::invalid_argument,
                      fmt::format("{}: it asks for nothing, so everything would suit", file_),
                      "write for example min_compute_capability = \"8.0\""});
    return policy_;
  }

private:
  using Handler = std::function<Result<void>(PolicyReader&, const std::string&, const toml::node&)>;

  tl::unexpected<base::Error> wrong(const toml::node& node, const std::string& what) const {
    return fail(Errc::invalid_argument, "{}:{}: {}", file_, node.source().begin.line, what);
  }

  bool asks_for_nothing() const {
    Policy asked = policy_;
    asked.name.clear();
    if (!asked.same_gpus.value_or(false))
      asked.same_gpus.reset();
    return asked == Policy{};
  }

  // Whole numbers stand for numbers too.
  Result<void> number(const std::string& key, const toml::node& node, std::optional<double>& into) {
    auto value = node.value<double>();
    if (!value || node.is_boolean() || !(*value > 0 && *value < 1e12))
      return wrong(node, key + " must be a number above zero");
    into = *value;
    return {};
  }

  Result<void> version(const std::string& key, const toml::node& node,
                       std::optional<knowledge::VersionNumber>& into) {
    auto text = node.value_exact<std::string>();
    auto read = knowledge::parse_version(text ? *text : "");
    // As a number 12.10 would be 12.1.
    if (!read || text->find_first_not_of("0123456789.") != std::string::npos)
      return wrong(node, key + " must be a version as text, such as \"8.0\"");
    into = *read;
    return {};
  }

  Result<void> interconnect(const std::string& key, const toml::node& node) {
    auto text = node.value_exact<std::string>();
    for (const auto& [kind, name] : enum_names(analysis::LinkKind{}))
      if (text && *text == name) {
        policy_.interconnect = kind;
        return {};
      }
    return wrong(node, key + " must be \"nvlink\" or \"pcie\"");
  }

  Result<void> gpus(const std::string& key, const toml::node& node) {
    auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > 1024)
      return wrong(node, key + " must be a whole number from 1 to 1024");
    policy_.min_gpus = static_cast<int>(*value);
    return {};
  }

  Result<void> features(const std::string& key, const toml::node& node) {
    const auto& known = analysis::policy_features();
    const toml::array* list = node.as_array();
    if (list == nullptr)
      return wrong(node, fmt::format("{} must be a list of {}", key, fmt::join(known, ", ")));
    for (const toml::node& element : *list) {
      auto name = element.value_exact<std::string>();
      if (!name || std::find(known.begin(), known.end(), *name) == known.end())
        return wrong(element, fmt::format("{} may be {}", key, fmt::join(known, ", ")));
      policy_.features.push_back(*name);
    }
    return {};
  }

  static const std::map<std::string, Handler>& handlers() {
    static const std::map<std::string, Handler> all{
        {"name",
         [](PolicyReader& to, const std::string& key, const toml::node& node) -> Result<void> {
           auto text = node.value_exact<std::string>();
           if (!text)
             return to.wrong(node, key + " must be text");
           to.policy_.name = *text;
           return {};
         }},
        {"min_compute_capability",
         [](PolicyReader& to, const std::string& key, const toml::node& node) {
           return to.version(key, node, to.policy_.min_compute_capability);
         }},
        {"min_memory_gb",
         [](PolicyReader& to, const std::string& key, const toml::node& node) {
           return to.number(key, node, to.policy_.min_memory_gb);
         }},
        {"interconnect", [](PolicyReader& to, const std::string& key,
                            const toml::node& node) { return to.interconnect(key, node); }},
        {"min_link_gb_per_s",
         [](PolicyReader& to, const std::string& key, const toml::node& node) {
           return to.number(key, node, to.policy_.min_link_gb_per_s);
         }},
        {"min_gpus", [](PolicyReader& to, const std::string& key,
                        const toml::node& node) { return to.gpus(key, node); }},
        {"same_gpus",
         [](PolicyReader& to, const std::string& key, const toml::node& node) -> Result<void> {
           to.policy_.same_gpus = node.value_exact<bool>();
           if (!to.policy_.same_gpus)
             return to.wrong(node, key + " must be true or false");
           return {};
         }},
        {"features", [](PolicyReader& to, const std::string& key,
                        const toml::node& node) { return to.features(key, node); }},
        {"max_power_w",
         [](PolicyReader& to, const std::string& key, const toml::node& node) {
           return to.number(key, node, to.policy_.max_power_w);
         }},
        {"min_driver_cuda",
         [](PolicyReader& to, const std::string& key, const toml::node& node) {
           return to.version(key, node, to.policy_.min_driver_cuda);
         }},
        {"max_price", [](PolicyReader& to, const std::string& key, const toml::node& node) {
           return to.number(key, node, to.policy_.max_price);
         }}};
    return all;
  }

  std::string file_;
  Policy policy_;
};

} // namespace

Result<Policy> read_policy(const std::filesystem::path& file) {
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(file, base::k_most_toml_bytes));
  NCCLPROBE_TRY(base::check_toml_limits(text, file.string()));
  try {
    return PolicyReader(file.string()).read(toml::parse(text, file.string()));
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", file.string(), error.source().begin.line,
                error.description());
  }
}

} // namespace ncclprobe::cli
