// SPDX-License-Identifier: Apache-2.0
// The words of errors and of help name only what there is: objects, verbs and
// options of dsctl's own tables, parameters of the module, documents. And
// times mean what the name of their value says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <ds/error.h>

#include "../../user/tools/dsctl/command.hpp"
#include "../../user/tools/dsctl/parse.hpp"
#include "../../user/tools/dsctl/units.hpp"

#include "user_cmocka.hpp"

using namespace dsctl;

namespace {

namespace fs = std::filesystem;
const fs::path root = UNIT_SOURCE_DIR;

std::string read(const fs::path &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<fs::path> files(const fs::path &folder,
                            const std::string &extension) {
  std::vector<fs::path> found;
  for (auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == extension)
      found.push_back(entry.path());
  return found;
}

// The string literals of a C or C++ source; those that stand side by side are
// one. Raw strings are no prose and left out.
std::vector<std::string> literals(const std::string &source) {
  static const std::regex token(
      R"re(//[^\n]*|/\*[^]*?\*/|'(?:\\.|[^'\\\n])+'|R"\w*\([^]*?\)\w*"|"((?:\\.|[^"\\\n])*)")re");
  std::vector<std::string> found;
  size_t end_of_last = std::string::npos;

  for (std::sregex_iterator it(source.begin(), source.end(), token), end;
       it != end; ++it) {
    if (!(*it)[1].matched)
      continue;
    size_t at = static_cast<size_t>(it->position());
    if (end_of_last != std::string::npos &&
        source.find_first_not_of(" \t\n\\", end_of_last) == at)
      found.back() += (*it)[1];
    else
      found.push_back((*it)[1]);
    end_of_last = at + static_cast<size_t>(it->length());
  }
  return found;
}

struct Text {
  std::string where;
  std::string text;
};

// All that dsctl, the library and the module say.
const std::vector<Text> &texts() {
  static const std::vector<Text> all = [] {
    std::vector<Text> list;
    auto add = [&](const fs::path &path) {
      for (std::string &text : literals(read(path)))
        list.push_back({path.filename(), std::move(text)});
    };
    for (auto &path : files(root / "user/tools/dsctl", ".cpp"))
      add(path);
    for (auto &path : files(root / "user/lib", ".cpp"))
      add(path);
    for (auto &path : files(root / "kernel", ".c"))
      add(path);
    return list;
  }();
  return all;
}

const Object *object_of(const std::string &name) {
  for (const Object *object : objects())
    if (object->name == name)
      return object;
  return nullptr;
}

const Verb *verb_of(const Object &object, const std::string &name) {
  for (const Verb &verb : object.verbs)
    if (verb.name == name)
      return &verb;
  return nullptr;
}

bool has_option(const std::vector<Param> &params, const std::string &name) {
  return std::any_of(params.begin(), params.end(),
                     [&](const Param &param) { return param.name == name; });
}

bool is_word(const std::string &text) {
  return !text.empty() && std::islower(static_cast<unsigned char>(text[0]));
}

// What is wrong with "[OPTIONS] OBJECT [VERB] ...", "" if nothing is.
std::string wrong_with(const std::string &command) {
  std::stringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);

  size_t at = 0;
  while (at < words.size() && words[at][0] == '-')
    if (!has_option(global_options(), words[at++]) &&
        words[at - 1].substr(0, 2) == "--")
      return "no global option " + words[at - 1];
  if (at == words.size() || !is_word(words[at]))
    return ""; // 'dsctl OBJECT --help'
  const Object *object = object_of(words[at++]);
  if (!object)
    return "no object " + words[at - 1];
  const Verb *verb = nullptr;
  if (at + 1 < words.size())
    verb = verb_of(*object, words[at] + " " + words[at + 1]);
  if (verb)
    at += 2;
  else if (at < words.size() && (verb = verb_of(*object, words[at])))
    at++;
  else if (at < words.size() && is_word(words[at]))
    return "no verb " + words[at];
  else if (!(verb = object->default_verb()))
    return "no verb is named";
  for (; at < words.size(); at++) {
    std::string option = words[at].substr(0, words[at].find('='));
    if (option.substr(0, 2) == "--" && !has_option(verb->params, option) &&
        !has_option(global_options(), option))
      return "no option " + option;
  }
  return "";
}

// What stands behind `before` up to the closing quote, or to the end if a value
// is put in there when the program runs.
std::vector<std::string> quoted(const std::string &text,
                                const std::string &before) {
  std::vector<std::string> found;
  for (size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
    at += before.size();
    found.push_back(text.substr(at, text.find(before[0], at) - at));
  }
  return found;
}

void commands_exist(void **) {
  int count = 0;
  for (const Text &text : texts())
    for (const char *before : {"'dsctl ", "`dsctl "})
      for (const std::string &command : quoted(text.text, before)) {
        std::string wrong = wrong_with(command);
        count++;
        if (!wrong.empty())
          fail_msg("%s: 'dsctl %s': %s", text.where.c_str(), command.c_str(),
                   wrong.c_str());
      }
  assert_true(count > 60);
}

// "'peer del' ends that"
void commands_without_dsctl_exist(void **) {
  static const std::regex pattern("'([a-z]+) ([a-z]+[^']*)'");
  int count = 0;
  for (const Text &text : texts()) {
    for (std::sregex_iterator it(text.text.begin(), text.text.end(), pattern),
         end;
         it != end; ++it) {
      if (!object_of((*it)[1]))
        continue;
      std::string command = it->str().substr(1, it->str().size() - 2);
      std::string wrong = wrong_with(command);
      count++;
      if (!wrong.empty())
        fail_msg("%s: '%s': %s", text.where.c_str(), command.c_str(),
                 wrong.c_str());
    }
  }
  assert_true(count > 3);
}

void options_exist(void **) {
  static const std::regex pattern("--[a-z][a-z0-9-]*");
  std::set<std::string> known;
  int count = 0;

  for (const Param &param : global_options())
    known.emplace(param.name);
  for (const Object *object : objects())
    for (const Verb &verb : object->verbs)
      for (const Param &param : verb.params)
        known.emplace(param.name);
  for (const Text &text : texts())
    for (std::sregex_iterator it(text.text.begin(), text.text.end(), pattern),
         end;
         it != end; ++it) {
      count++;
      if (!known.count(it->str()))
        fail_msg("%s: %s is no option: %s", text.where.c_str(),
                 it->str().c_str(), text.text.c_str());
    }
  assert_true(count > 60);
}

std::set<std::string> module_parameters() {
  static const std::regex pattern(R"(module_param_cb\((\w+),)");
  std::string source = read(root / "kernel/main.c");
  std::set<std::string> names;
  for (std::sregex_iterator it(source.begin(), source.end(), pattern), end;
       it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

// "load ds.ko with a larger max_buf_mb"
void module_parameters_exist(void **) {
  static const std::regex pattern(
      R"re((?:larger |smaller |raise |\b(?=max_))([a-z]+_\w+))re");
  auto known = module_parameters();
  std::set<std::string> named;

  assert_true(known.size() >= 8 && known.count("max_buf_mb"));
  for (const Text &text : texts()) {
    if (text.text.find(' ') == std::string::npos)
      continue; // a name of something else, not a sentence
    for (std::sregex_iterator it(text.text.begin(), text.text.end(), pattern),
         end;
         it != end; ++it) {
      named.insert((*it)[1]);
      if (!known.count((*it)[1]) && (*it)[1] != "max_msg_bytes")
        fail_msg("%s: the module has no parameter %s: %s", text.where.c_str(),
                 (*it)[1].str().c_str(), text.text.c_str());
    }
  }
  // Each limit has an error that tells how to raise it.
  for (const char *limit :
       {"max_buf_mb", "max_seg_mb", "max_peers", "max_attaches"})
    if (!named.count(limit))
      fail_msg("no sentence names %s", limit);
}

// The library's remedies: any name in them is a parameter or in a public
// header.
void names_in_remedies_exist(void **) {
  static const std::regex name("[a-z]+_[a-z_]+"),
      document(R"(docs/\w+\.md|ds/\w+\.h)");
  std::string headers;
  auto known = module_parameters();
  int count = 0;

  for (auto &path : files(root / "user/lib/include/ds", ".h"))
    headers += read(path);
  for (int code = 1; code < 4096; code++) {
    std::string text = ds_remedy(code);
    for (std::sregex_iterator it(text.begin(), text.end(), name), end;
         it != end; ++it) {
      count++;
      if (!known.count(it->str()) &&
          !std::regex_search(headers, std::regex("\\b" + it->str() + "\\b")))
        fail_msg("%s: there is no %s", ds_errname(code), it->str().c_str());
    }
    for (std::sregex_iterator it(text.begin(), text.end(), document), end;
         it != end; ++it)
      if (!fs::exists(root / it->str()) &&
          !fs::exists(root / "user/lib/include" / it->str()))
        fail_msg("%s: there is no %s", ds_errname(code), it->str().c_str());
  }
  assert_true(count > 3);
}

void the_checks_find_mistakes(void **) {
  for (const char *good :
       {"peer show", "node domain add 1 --key FILE", "version", "-q seg add 1M",
        "OBJECT VERB --help", "--help", "mem read 0x1 8 --timeout 1s"})
    assert_string_equal(wrong_with(good).c_str(), "");
  for (const char *bad :
       {"peers show", "peer list", "node domain rename",
        "seg attach 2:1 --spice 1", "mem 0x1", "--frob version"})
    assert_true(!wrong_with(bad).empty());
  auto found = literals(
      "f(\"a 'b\"\n  \" c'\"); // \"no\"\n/* \"no\" */ g('\"', \"x\\\"y\");");
  assert_int_equal(found.size(), 2);
  assert_string_equal(found[0].c_str(), "a 'b c'");
  assert_string_equal(found[1].c_str(), "x\\\"y");
}

uint64_t time_of(const char *object, const char *verb, const char *option,
                 const char *text) {
  for (const Param &param : verb_of(*object_of(object), verb)->params)
    if (param.name == option)
      return number_of(param, text);
  fail_msg("%s %s has no %s", object, verb, option);
  return 0;
}

void times_without_a_unit(void **) {
  assert_int_equal(time_of("mem", "bench", "--seconds", "5"), 5000);
  assert_int_equal(time_of("mem", "bench", "--seconds", "1500ms"), 1500);
  assert_int_equal(time_of("mem", "bench", "--seconds", "2m"), 120000);
  assert_int_equal(time_of("stat", "show", "--watch", "1"), 1000);
  assert_int_equal(time_of("stat", "show", "--watch", "100ms"), 100);
  assert_int_equal(time_of("peer", "add", "--wait", "500"), 500);
  assert_int_equal(time_of("peer", "add", "--wait", "5s"), 5000);
  assert_int_equal(*parse_duration("500"), 500);
  assert_int_equal(*parse_duration("3", 1000), 3000);
  assert_false(parse_duration("18446744073709551", 1000000).has_value());
  for (const char *bad : {"", "s", "5x", "-1", "1.5s", "5 s"})
    assert_false(parse_duration(bad, 1000).has_value());
  assert_string_equal(duration_text(1500).c_str(), "1500ms");
  assert_string_equal(duration_text(20000).c_str(), "20s");
}

} // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(commands_exist),
      cmocka_unit_test(commands_without_dsctl_exist),
      cmocka_unit_test(options_exist),
      cmocka_unit_test(module_parameters_exist),
      cmocka_unit_test(names_in_remedies_exist),
      cmocka_unit_test(the_checks_find_mistakes),
      cmocka_unit_test(times_without_a_unit),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
