// SPDX-License-Identifier: MIT
// Scrolls the navigation to the page that is shown.
{
  const list = document.querySelector(".sidebar-scroll");
  const page = document.querySelector(".sidebar-tree .current-page");
  if (page) {
    const below = page.getBoundingClientRect().top - list.getBoundingClientRect().top;
    list.scrollTo({ top: below - list.clientHeight / 2, behavior: "instant" });
  }
}
