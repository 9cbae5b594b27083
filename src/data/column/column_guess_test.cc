#include "data/column/column_guess.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "data/column/number_form.h"
#include "data/read_options.h"

namespace thalweg {
namespace {

// A CSV file of a label and a column, and what is guessed of the column.
struct Guess {
  std::string kind, why;
};

Guess guess(const std::string& name, std::uint32_t rows,
            const std::function<std::string(std::uint32_t row, Random&, double& chance)>& cell,
            const std::string& spec = "") {
  Random random(5);
  std::string text;
  for (std::uint32_t row = 0; row < rows; ++row) {
    double chance = 0.3;
    const std::string written = cell(row, random, chance);
    text += (random.chance(chance) ? "1," : "0,") + written + "\n";
  }
  ReadOptions options;
  options.columns = spec;
  const std::string header = "label," + name + "\n";
  Columns columns = find_columns(header + text, "f.csv", options).value();
  const std::size_t size = text.size();
  text.append(kTextPad, '\0');
  guess_columns(std::string_view(text).substr(0, size), true, columns);
  return {column_kind_text(columns.list[1]), columns.list[1].facts.why};
}

std::string below(std::uint32_t count, Random& random) {
  return std::to_string(static_cast<std::uint32_t>(random.unit() * count));
}

TEST(ColumnGuess, NamesSayIds) {
  for (const char* name : {"user_id", "userId", "movieid", "id", "Zip", "C14", "item", "ad", "device_type"})
    EXPECT_TRUE(name_says_id(name)) << name;
  for (const char* name : {"paid", "valid", "price", "item_price", "user_count", "C", "c1x", "age", "grid"})
    EXPECT_FALSE(name_says_id(name)) << name;
}

TEST(ColumnGuess, WholeNumbersUnderAnIdsNameAreCategories) {
  const auto many = [](std::uint32_t, Random& random, double&) { return below(500, random); };
  EXPECT_EQ(guess("user_id", 1000, many).kind, "cat");
  EXPECT_EQ(guess("visits", 1000, many).kind.substr(0, 4), "num-");
  EXPECT_EQ(guess("user_id", 1000, many, "user_id:num").kind.substr(0, 4), "num-") << "what is told is kept";
}

TEST(ColumnGuess, WhatDiffersInEachRowIsLeftOutWhereItCannotMeanAnything) {
  const auto running = [](std::uint32_t row, Random&, double&) { return std::to_string(7 + row); };
  const auto text = [](std::uint32_t row, Random&, double&) {
    return fmt::format("t{}", row * 7919 % 10000);
  };
  const auto real = [](std::uint32_t, Random& random, double&) { return std::to_string(random.unit()); };
  EXPECT_EQ(guess("n", 200, running).kind, "-");
  EXPECT_EQ(guess("n", 200, running).why, "differs in each of 200 rows");
  EXPECT_EQ(guess("title", 200, text).kind, "-");
  EXPECT_EQ(guess("title", 99, text).kind, "cat") << "too few rows to tell";
  EXPECT_EQ(guess("x", 200, real).kind.substr(0, 4), "num-");
  EXPECT_EQ(guess("title", 200, text, "title:cat").kind, "cat");
}

TEST(ColumnGuess, LabelsThatFollowValuesAndNotTheirOrderMakeCategories) {
  const auto by_order = [](std::uint32_t, Random& random, double& chance) {
    const std::string v = below(8, random);
    chance = 0.1 + 0.1 * std::stoi(v);
    return v;
  };
  const auto by_value = [](std::uint32_t, Random& random, double& chance) {
    const std::string v = below(8, random);
    chance = std::stoi(v) % 2 == 0 ? 0.1 : 0.7;
    return v;
  };
  const auto by_nothing = [](std::uint32_t, Random& random, double&) { return below(8, random); };
  EXPECT_EQ(guess("x", 2000, by_order).kind.substr(0, 4), "num-");
  EXPECT_EQ(guess("x", 2000, by_nothing).kind.substr(0, 4), "num-");
  EXPECT_EQ(guess("x", 2000, by_value).kind, "cat");
  EXPECT_EQ(guess("x", 2000, by_value).why, "whole numbers whose order the labels do not follow");
}

TEST(ColumnGuess, NumbersFarFromZero) {
  const auto year = [](std::uint32_t, Random& random, double&) {
    return std::to_string(1960 + std::stoi(below(60, random)));
  };
  const auto second = [](std::uint32_t, Random& random, double&) {
    return std::to_string(880000000 + std::stoi(below(1000000, random)));
  };
  EXPECT_EQ(guess("year", 2000, year).kind, "cat");
  const std::string kind = guess("at", 2000, second).kind;
  EXPECT_TRUE(kind.starts_with("num-8.8") || kind.starts_with("num-880")) << kind;
}

// What a kind subtracts, and what it divides by.
std::pair<float, float> form_of(const std::string& kind) {
  const std::size_t slash = kind.find('/');
  return {kind.starts_with("num-") ? std::stof(kind.substr(4)) : 0, std::stof(kind.substr(slash + 1))};
}

TEST(ColumnGuess, ScalesAreMeanSizesAndTimesTenTenTimesAsLarge) {
  const auto price = [](double times) {
    return [times](std::uint32_t, Random& random, double&) {
      return std::to_string(times * std::exp(3 * random.unit()) - (random.chance(0.5) ? 6 * times : 0));
    };
  };
  const std::string one = guess("price", 3000, price(1)).kind;
  ASSERT_TRUE(one.starts_with("num/")) << one;
  EXPECT_NEAR(std::stof(one.substr(4)), 5.3, 0.3);
  EXPECT_FLOAT_EQ(std::stof(guess("price", 3000, price(1000000)).kind.substr(4)),
                  1e6f * std::stof(one.substr(4)));
  const auto zero_or_one = [](std::uint32_t, Random& random, double&) { return below(2, random); };
  EXPECT_EQ(guess("flag", 500, zero_or_one).kind, "num/1") << "what is all ones stays as it is";
}

TEST(ColumnGuess, NumbersFarFromZeroAreScaledByTheirDeviationFromTheirMean) {
  const auto age = [](double times) {
    return [times](std::uint32_t, Random& random, double&) {
      return std::to_string(times * (20 + 40 * random.unit()));
    };
  };
  const auto [offset, scale] = form_of(guess("age", 3000, age(1)).kind);
  EXPECT_NEAR(offset, 40, 1);
  EXPECT_NEAR(scale, 40 / std::sqrt(12.0), 0.3);
  const auto thousands = form_of(guess("age", 3000, age(-1000)).kind);
  EXPECT_NEAR(thousands.first, -1000 * offset, 1);
  EXPECT_NEAR(thousands.second, 1000 * scale, 20);
  const auto mostly_one = [](std::uint32_t, Random& random, double&) {
    return std::string(random.chance(0.9) ? "1" : "0");
  };
  EXPECT_EQ(guess("flag", 3000, mostly_one).kind, "num/1");
}

TEST(ColumnGuess, NumbersThatStandForSomethingElseLeaveTheScaleAsItIs) {
  const auto price = [](double sentinel) {
    return [sentinel](std::uint32_t row, Random& random, double&) {
      return std::to_string(row % 500 == 7 ? sentinel : 1 + 100 * random.unit());
    };
  };
  const auto usual = form_of(guess("price", 3000, price(50)).kind);
  for (const double sentinel : {9999999999.0, -1e30}) {
    const auto found = form_of(guess("price", 3000, price(sentinel)).kind);
    EXPECT_NEAR(found.first, usual.first, 0.05f * usual.first);
    EXPECT_NEAR(found.second, usual.second, 0.05f * usual.second);
  }
}

TEST(ColumnGuess, TheScaleIsOpenWhereNoNumberButZeroIsThere) {
  const auto zero = [](std::uint32_t row, Random&, double&) { return std::string(row % 2 == 0 ? "0" : ""); };
  EXPECT_EQ(guess("price", 300, zero).kind, "num/?");
  EXPECT_EQ(guess("price", 300, zero, "price:num:log").kind, "num:log/?");
  EXPECT_EQ(guess("price", 300, zero, "price:num:raw").kind, "num:raw");
  EXPECT_EQ(guess("price", 300, zero, "price:num:bucket").kind, "num:bucket");
  const auto three = [](std::uint32_t, Random&, double&) { return std::string("3"); };
  EXPECT_EQ(guess("price", 300, three, "price:num/?").kind, "num/3");
  NumberForm open;
  ASSERT_TRUE(parse_offset_and_scale("/?", open));
  EXPECT_EQ(in_form(std::expm1(4.0), open), 4.0f) << "no number is too large to tell from others";
  EXPECT_FALSE(parse_offset_and_scale("-3/?", open));
}

TEST(ColumnGuess, AWordAmongManyNumbersIsABadRowAndManyAreCategories) {
  const auto words = [](std::uint32_t every) {
    return [every](std::uint32_t row, Random& random, double&) {
      return row > 150 && row % every == 0 ? std::string("oops") : below(1000, random) + ".5";
    };
  };
  EXPECT_EQ(guess("x", 2000, words(500)).kind.substr(0, 4), "num-");
  EXPECT_EQ(guess("x", 2000, words(20)).kind, "cat");
}

TEST(ColumnGuess, FactsAreCounted) {
  ReadOptions options;
  std::string text = "1,3,a\n0,,b\n1,-5,a\n0,NA,\n";
  Columns columns = find_columns("y,n,c\n" + text, "f.csv", options).value();
  const std::size_t size = text.size();
  text.append(kTextPad, '\0');
  guess_columns(std::string_view(text).substr(0, size), false, columns);
  const ColumnFacts& n = columns.list[1].facts;
  EXPECT_EQ(n.rows, 4u);
  EXPECT_EQ(n.missing, 2u);
  EXPECT_EQ(n.distinct, 2u);
  EXPECT_EQ(n.smallest, -5);
  EXPECT_EQ(n.largest, 3);
  EXPECT_EQ(columns.list[2].facts.distinct, 2u);
  EXPECT_EQ(columns.list[2].facts.missing, 1u);
  EXPECT_EQ(column_kind_text(columns.list[1]), "num") << "no scale is chosen unless that is asked for";
}

}  // namespace
}  // namespace thalweg
