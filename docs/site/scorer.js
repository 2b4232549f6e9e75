// SPDX-License-Identifier: MIT
// The search, in place of Sphinx's, which does not look at the words of a name and finds a heading only if the whole
// query stands in it. Entries of the reference, headings and pages compete; the highest score comes first.

{
  const MOST_RESULTS = 40;  // Sphinx loads the page of each for an excerpt
  const NAME = 100;         // an entry with this name
  const BEGINNING = 90;     // resize_tensor_ptr for "resize"
  const PART = 70;          // contiguous for "contig"
  const TITLE = 93;         // a page with these words as its title; fewer points for each other word in it
  const HEADING = 85;
  const ALL_WORDS = 40;     // a heading or name that has all the words, at least
  const LESS = {
    member: 45,      // of a class, for resize_tensor_ptr before Layout::resize,
    ofTensor: 1,     // but not of a tensor
    access: 2,       // the same as functions, for ATen mode
    partOfMacro: 20,
    notGuide: 10,    // the title of an example or a page of the reference: guides and entries come before
    place: 5,        // the last page of the navigation
  };

  const words = text => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(word => word);
  const nameWords = name => words(name.replace(/([a-z0-9])([A-Z])/g, "$1 $2"));
  const stemmer = new Stemmer();
  const stems = found => found.filter(word => !stopwords.has(word) && word.length > 1).map(word => stemmer.stemWord(word));
  const has = (found, word) => found.some(other => other === word || (word.length > 2 && other.startsWith(word)));
  const hasAll = (found, wanted) => wanted.length > 0 && wanted.every(word => has(found, word));

  const nameScore = (parts, parameters, summary, query) => {
    const last = parts[parts.length - 1];
    const joined = query.join("");
    if (joined === last.join("") || joined === parts.flat().join("")) return NAME;
    if (last.some((_, i) => last.slice(0, i + 1).join("") === joined)) return BEGINNING;
    if (joined.length > 2 && last.join("").startsWith(joined)) return PART;
    const name = [...parts.flat(), last.join("")];
    if (hasAll(name, query)) return ALL_WORDS + 20 * query.length / name.length;
    const wanted = stems(query);
    const declared = stems([...name, ...words(parameters)]);
    const all = [...declared, ...stems(words(summary))];
    if (!hasAll(all, wanted)) return 0;
    return 20 + 40 * wanted.length / all.length + 5 * wanted.filter(word => has(declared, word)).length;
  };

  const entryScore = (name, page, parameters, summary, query) => {
    const score = nameScore(name.split("::").map(nameWords), parameters, summary, query);
    if (score === 0) return 0;
    if (name.includes("::")) return score - (/^Tensor(Impl|Metadata)?::/.test(name) ? LESS.ofTensor : LESS.member);
    if (page === "reference/tensor/access") return score - LESS.access;
    return name.startsWith("TENON_") && score < NAME ? score - LESS.partOfMacro : score;
  };

  const headingScore = (heading, title, wanted) => {
    const own = stems(words(heading));
    if (hasAll(own, wanted))
      return ALL_WORDS + ((title === heading ? TITLE : HEADING) - ALL_WORDS) * wanted.length / own.length;
    const both = [...own, ...stems(words(title))];
    return hasAll(both, wanted) && wanted.some(word => has(own, word)) ? 25 + 30 * wanted.length / both.length : 0;
  };

  const search = text => {
    const { docnames, filenames, titles, objects, alltitles, terms, titleterms, places } = Search._index;
    const query = words(text.replace(/\b(tenon|std)::/g, ""));
    const wanted = [...new Set(stems(query))];
    const results = [];
    const add = (page, title, anchor, about, score, kind) => {
      const less = LESS.place * places[page] / docnames.length;
      if (score > 0) results.push([docnames[page], title, anchor, about, score - less, filenames[page], kind]);
    };
    const pagesWith = word => [terms, titleterms].flatMap(index => Object.hasOwn(index, word) ? index[word] : []);

    for (const [page, , , anchor, name, parameters, summary] of Object.values(objects).flat()) {
      const score = entryScore(name, docnames[page], parameters, summary, query);
      if (score <= 0) continue;
      const uses = pagesWith(stemmer.stemWord(name.split("::").pop().toLowerCase())).length;
      add(page, name + parameters, "#" + anchor, summary, score + Math.min(uses, 50) / 10, SearchResultKind.object);
    }

    const wordsInHeadings = titles.map(title => new Set(stems(words(title))));
    for (const [heading, found] of Object.entries(alltitles)) {
      for (const [page, id] of found) {
        const less = /^(reference|examples)\//.test(docnames[page]) ? LESS.notGuide : 0;
        add(page, id === null || titles[page] === heading ? heading : `${titles[page]} > ${heading}`,
            id === null ? "" : "#" + id, null, headingScore(heading, titles[page], wanted) - less, SearchResultKind.title);
        stems(words(heading)).forEach(word => wordsInHeadings[page].add(word));
      }
    }

    // The pages that have most of the words.
    const found = new Set(results.map(result => result[0]));
    const withWord = wanted.map(word => new Set(pagesWith(word)));
    titles.forEach((title, page) => {
      const share = has => wanted.filter(has).length / wanted.length;
      const inText = share((word, i) => withWord[i].has(page));
      if (inText <= 0.5 || found.has(docnames[page])) return;
      const inTitle = share(word => has(stems(words(title)), word));
      const inHeadings = share(word => has([...wordsInHeadings[page]], word));
      add(page, title, "", null, 10 * inText + 5 * inHeadings + 5 * inTitle, SearchResultKind.text);
    });
    return results.sort((a, b) => b[4] - a[4]).slice(0, MOST_RESULTS).reverse();  // the last is shown first
  };

  Search._performSearch = query => {
    document.getElementById("search-progress")?.replaceChildren();
    return search(query);
  };
}
