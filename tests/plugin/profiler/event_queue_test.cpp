// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/event_queue.h"
#include "plugin/profiler/open_events.h"
#include "plugin/profiler/words.h"

#include "support/catch.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace ncclprobe::plugin;

TEST_CASE("a full queue counts what it forgets, and goes on when there is room") {
  EventQueue<int, 4> queue;
  for (int i = 0; i < 6; ++i)
    queue.push(i);

  CHECK(queue.lost() == 2);
  for (int i = 0; i < 4; ++i)
    CHECK(queue.pop() == i);
  CHECK_FALSE(queue.pop());
  queue.push(7);
  CHECK(queue.pop() == 7);
}

TEST_CASE("many writers and one reader: each event comes once, each writer's in order") {
  constexpr int k_writers = 4;
  constexpr int k_each = 50'000;
  auto queue = std::make_unique<EventQueue<std::pair<int, int>, 1024>>();
  std::atomic<int> running{k_writers};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < k_writers; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < k_each; ++i)
        queue->push({writer, i});
      --running;
    });

  std::vector<int> last(k_writers, -1);
  std::uint64_t came = 0;
  bool in_order = true;
  while (true) {
    bool all_done = running == 0; // before looking
    if (auto event = queue->pop()) {
      in_order &= event->second > last[static_cast<std::size_t>(event->first)];
      last[static_cast<std::size_t>(event->first)] = event->second;
      ++came;
    } else if (all_done) {
      break;
    }
  }
  for (std::thread& writer : writers)
    writer.join();

  CHECK(in_order);
  CHECK(came + queue->lost() == k_writers * k_each);
}

TEST_CASE("places of open events are distinct, limited, and used again") {
  OpenEvents<int, 3> open;
  std::uint32_t a = open.take();
  std::uint32_t b = open.take();
  std::uint32_t c = open.take();
  open.at(b) = 7;

  CHECK(a != b);
  CHECK(b != c);
  CHECK(open.take() == open.k_none);
  CHECK(open.lost() == 1);
  CHECK(open.at(b) == 7);
  open.give_back(b);
  CHECK_FALSE(open.is_open(b));
  CHECK_FALSE(open.is_open(99));
  CHECK(open.take() == b);
  CHECK(open.at(b) == 0); // nothing of the one before
}

TEST_CASE("a word has one number, also when its address comes to hold another") {
  WordTable words;
  std::string text = "RING";

  std::uint8_t ring = words.number_of(text.data());
  CHECK(ring != 0);
  CHECK(words.number_of(text.data()) == ring);
  text = "TREE"; // in the same place
  std::uint8_t tree = words.number_of(text.data());

  CHECK(tree != ring);
  CHECK(words.text(ring) == "RING");
  CHECK(words.text(tree) == "TREE");
  CHECK(words.number_of(nullptr) == 0);
  CHECK(words.number_of("") == 0);
}

TEST_CASE("a table of words that is full gives no number") {
  WordTable words;
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i)
    texts.push_back("word-" + std::to_string(i));
  int numbered = 0;
  for (const std::string& text : texts)
    numbered += words.number_of(text.c_str()) != 0 ? 1 : 0;
  CHECK(numbered == WordTable::k_words - 1);
}
