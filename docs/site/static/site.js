// SPDX-License-Identifier: MIT
// Scrolls the navigation to the page that is shown.
{
  const list = document.querySelector(".sidebar-scroll");
  const page = document.querySelector(".sidebar-tree .current-page");
  if (list && page)
    list.scrollTop += page.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 2;
}
