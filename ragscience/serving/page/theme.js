// Before anything is drawn: the theme that was chosen last, so that the page never flashes in the other one.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage is switched off: the system's theme stays */ }
