#include "server/rpc/intrusive_list.h"

#include <vector>

#include "gtest/gtest.h"

namespace kernelwire {
namespace {

struct Item : ListLink<Item> {
  explicit Item(int its_value) : value(its_value) {}
  int value;
};

std::vector<int> ValuesOf(const IntrusiveList<Item>& list) {
  std::vector<int> values;
  for (const Item* item = list.front(); item != nullptr; item = IntrusiveList<Item>::Next(item)) {
    values.push_back(item->value);
  }
  EXPECT_EQ(values.size(), list.size());
  return values;
}

TEST(IntrusiveListTest, KeepsOrderAndForgetsWhatLeaves) {
  Item a(1), b(2), c(3);
  IntrusiveList<Item> list;
  EXPECT_TRUE(list.empty());
  list.PushBack(&a);
  list.PushBack(&b);
  list.PushBack(&c);
  EXPECT_EQ(ValuesOf(list), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(b.list(), &list);
  list.Remove(&b);
  EXPECT_EQ(b.list(), nullptr);
  EXPECT_EQ(ValuesOf(list), (std::vector<int>{1, 3}));
  list.Remove(&c);
  list.PushBack(&b);
  EXPECT_EQ(ValuesOf(list), (std::vector<int>{1, 2}));
  list.Remove(&a);
  list.Remove(&b);
  EXPECT_TRUE(list.empty());
  list.PushBack(&c);
  EXPECT_EQ(ValuesOf(list), (std::vector<int>{3}));
}

}  // namespace
}  // namespace kernelwire
