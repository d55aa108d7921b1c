// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// What every HTML page contains: the script made from the TypeScript of this folder and D3, and the
// style. A build without esbuild or D3 has none.
namespace ncclprobe::analysis {

constexpr std::string_view k_no_page_hint =
    "install the packages esbuild and node-d3 (launch/setup.sh does it), then configure and build "
    "again";

bool has_page();

std::string_view page_script();
std::string_view page_style();

// Their SHA-256 in Base64, as a Content Security Policy names it.
std::string page_script_hash();
std::string page_style_hash();

} // namespace ncclprobe::analysis
