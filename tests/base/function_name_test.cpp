// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/function_name.h"
#include "support/catch.h"

#include <utility>
#include <vector>

namespace ncclprobe {

TEST_CASE("functions are named without the arguments of templates") {
  const std::vector<std::pair<const char*, const char*>> names{
      {"main", "main"},
      {"std::map<std::pair<int, int>, int, std::less<std::pair<int, int> > >::find(int const&)",
       "std::map<>::find(int const&)"},
      {"int f<3>(std::vector<int>)", "int f<>(std::vector<>)"},
      {"a::operator<(a const&, a const&)", "a::operator<(a const&, a const&)"},
      {"operator<< <char>(std::basic_ostream<char>&)", "operator<< <>(std::basic_ostream<>&)"},
      {"p<int>::operator->() const", "p<>::operator->() const"},
      {"cut<off", "cut<>"},
  };
  for (const auto& [name, shown] : names)
    CHECK(base::without_template_arguments(name) == shown);
}

} // namespace ncclprobe
