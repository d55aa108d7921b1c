// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/document_kind.h"
#include "support/catch.h"
#include "support/paths.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace ncclprobe::analysis {
namespace {

std::string kind_of(std::string_view text, std::size_t piece = 1 << 20) {
  DocumentSigns signs;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    signs.feed(text.substr(0, piece));
  return signs.finish();
}

std::string content_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(support::source_dir() + "/" + file).rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("our own documents and sources are not logs") {
  for (const char* name : {"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs/method.md"}) {
    INFO(name);
    CHECK(kind_of(content_of(name)) == "a Markdown document");
    CHECK(kind_of(content_of(name), 7) == "a Markdown document");
  }
  CHECK(kind_of(content_of("src/knowledge/data/causes_nccl.json")) == "a JSON document");
  CHECK(kind_of(content_of("tests/machines/dgx-a100.xml")) == "an XML or HTML document");
  CHECK(kind_of(content_of("launch/setup.sh")) == "source code");
  CHECK(kind_of(content_of("analysis/diagnosis/document_kind.cpp")) == "source code");
}

TEST_CASE("a log is one whatever it looks like") {
  for (const char* text :
       {"RuntimeError: NCCL error: unhandled system error\n", "", "\n\n", "Killed",
        "# epoch 1\n| loss | 0.1 |\n| loss | 0.2 |\n- one\n- two\nCUDA error: out of memory\n",
        "[1,0]<stderr>: node1:1:2 [0] NCCL WARN x\n[1,1]<stderr>: node1:1:2 [0] NCCL WARN x\n",
        "{\"level\":\"error\",\"msg\":\"NCCL error\"}\n{\"level\":\"info\",\"msg\":\"x\"}\n",
        "<6>[   12.5] NVRM: Xid (PCI:0000:3b:00): 79\n"}) {
    INFO(text);
    CHECK(kind_of(text).empty());
  }
}

TEST_CASE("a report of a fault that is mostly log is a log") {
  std::string log;
  for (int i = 0; i < 20; ++i)
    log += "node1:10:11 [0] NCCL WARN NET/IB : Got completion with error 12\n";

  CHECK(kind_of("### What happened\nSee [here](http://x).\n```\n" + log + "```\n").empty());
  CHECK(kind_of("### What happened\nSee [here](http://x).\n```\nan error\n```\n") ==
        "a Markdown document");
}

TEST_CASE("of a long file the beginning says too little") {
  CHECK(kind_of(content_of("README.md") + std::string(1 << 20, '\n')).empty());
}

} // namespace ncclprobe::analysis
