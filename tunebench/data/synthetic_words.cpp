#include "tunebench/data/synthetic_words.h"

#include <array>

namespace tunebench::data {
namespace {

constexpr auto kWords = std::to_array<std::string_view>({
    "the",        "of",       "and",        "to",       "in",         "a",           "is",
    "that",       "for",      "it",         "was",      "on",         "with",        "as",
    "be",         "by",       "at",         "this",     "from",       "or",          "have",
    "an",         "they",     "which",      "one",      "you",        "were",        "all",
    "her",        "she",      "there",      "would",    "their",      "we",          "him",
    "been",       "has",      "when",       "who",      "will",       "no",          "more",
    "if",         "out",      "so",         "up",       "said",       "what",        "its",
    "about",      "than",     "into",       "them",     "can",        "only",        "other",
    "time",       "new",      "some",       "could",    "these",      "two",         "may",
    "first",      "then",     "do",         "any",      "like",       "my",          "now",
    "over",       "such",     "our",        "man",      "me",         "even",        "most",
    "made",       "after",    "also",       "did",      "many",       "off",         "before",
    "must",       "well",     "back",       "through",  "years",      "where",       "much",
    "your",       "way",      "down",       "should",   "because",    "long",        "each",
    "just",       "state",    "those",      "people",   "too",        "how",         "little",
    "good",       "world",    "make",       "very",     "year",       "still",       "see",
    "own",        "work",     "men",        "day",      "get",        "here",        "old",
    "life",       "both",     "between",    "being",    "under",      "three",       "never",
    "know",       "same",     "last",       "another",  "while",      "us",          "might",
    "great",      "go",       "come",       "since",    "against",    "right",       "came",
    "take",       "used",     "himself",    "few",      "house",      "use",         "during",
    "without",    "again",    "place",      "around",   "however",    "home",        "small",
    "found",      "thought",  "went",       "say",      "part",       "once",        "general",
    "high",       "upon",     "school",     "every",    "does",       "got",         "united",
    "left",       "number",   "course",     "war",      "until",      "always",      "away",
    "something",  "fact",     "water",      "less",     "public",     "put",         "think",
    "almost",     "hand",     "enough",     "far",      "took",       "head",        "yet",
    "government", "system",   "set",        "told",     "nothing",    "night",       "end",
    "why",        "called",   "find",       "going",    "look",       "asked",       "later",
    "knew",       "point",    "next",       "program",  "city",       "business",    "give",
    "group",      "toward",   "young",      "let",      "room",       "days",        "side",
    "social",     "given",    "present",    "several",  "order",      "national",    "second",
    "possible",   "rather",   "per",        "face",     "among",      "form",        "important",
    "often",      "things",   "looked",     "early",    "white",      "case",        "large",
    "big",        "need",     "four",       "within",   "felt",       "children",    "along",
    "saw",        "best",     "church",     "ever",     "least",      "power",       "development",
    "light",      "thing",    "seemed",     "family",   "interest",   "want",        "members",
    "others",     "mind",     "country",    "area",     "done",       "turned",      "although",
    "open",       "service",  "certain",    "kind",     "different",  "door",        "began",
    "thus",       "help",     "means",      "sense",    "whole",      "matter",      "perhaps",
    "itself",     "times",    "law",        "human",    "line",       "above",       "name",
    "example",    "action",   "company",    "hands",    "local",      "show",        "five",
    "history",    "whether",  "gave",       "either",   "today",      "act",         "feet",
    "across",     "taken",    "past",       "quite",    "anything",   "seen",        "having",
    "death",      "body",     "experience", "half",     "really",     "week",        "car",
    "field",      "word",     "words",      "already",  "themselves", "information", "tell",
    "college",    "shall",    "money",      "period",   "held",       "keep",        "sure",
    "probably",   "free",     "real",       "seems",    "behind",     "cannot",      "miss",
    "political",  "air",      "question",   "making",   "office",     "brought",     "whose",
    "special",    "major",    "heard",      "problems", "federal",    "became",      "study",
    "ago",        "moment",   "available",  "known",    "result",     "street",      "economic",
    "boy",        "position", "reason",     "change",   "south",      "board",       "individual",
    "job",        "society",  "areas",      "west",     "close",      "turn",        "community",
    "true",       "love",     "court",      "force",    "full",       "cost",        "seem",
    "wife",       "future",   "age",        "wanted",   "voice",      "department",  "center",
    "woman",      "control",  "common",     "policy",   "necessary",  "following",   "front",
    "sometimes",  "six",      "girl",       "clear",    "further",    "land",        "feel",
    "provide",    "run",      "able",       "party",    "music",      "mother",      "education",
    "university", "child",    "effect",     "students", "level",      "stood",       "military",
    "town",       "short",    "morning",    "total",    "outside",    "figure",      "rate",
    "art",        "century",  "class",      "north",    "usually",    "plan",        "leave",
    "therefore",  "evidence", "top",        "million",  "sound",      "black",       "strong",
    "hard",       "various",  "says",       "type",     "value",      "surface",     "lower",
    "report",     "river",    "market",     "train",    "measure",    "garden",      "window",
    "paper",      "station",  "bridge",     "winter",   "summer",     "engine",      "letter",
    "kitchen",    "village",  "road",       "ship",     "island",     "forest",      "mountain",
    "valley",     "harbor",   "farmer",     "teacher",  "doctor",     "writer",      "reader",
    "speaker",    "driver",   "worker",     "owner",    "neighbor",   "visitor",     "travel",
    "weather",    "season",   "harvest",    "bread",    "butter",     "coffee",      "sugar",
    "fruit",
});

}  // namespace

std::span<const std::string_view> synthetic_words() {
  return kWords;
}

}  // namespace tunebench::data
