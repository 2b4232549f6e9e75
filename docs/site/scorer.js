// SPDX-License-Identifier: MIT
// Sphinx's scores, and a name that is what was searched for first: it looks for names behind dots, not behind "::".
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const query = new URLSearchParams(location.search).get("q").trim().toLowerCase();
    return title.toLowerCase().split("::").pop() === query ? score + 20 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
